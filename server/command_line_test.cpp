#include "server/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "server/settings_schema.h"

namespace hearth::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::StatusOr<CommandLine> Parse(std::vector<std::string> arguments, const std::string& program = "hearthd") {
  arguments.insert(arguments.begin(), "/usr/bin/" + program);
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  return ParseCommandLine(static_cast<int>(pointers.size()), pointers.data());
}

// Beside a repository, which every start needs.
absl::StatusOr<CommandLine> ParseMore(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"--model-repository", "a"});
  return Parse(std::move(arguments));
}

std::string CommandLineError(const absl::StatusOr<CommandLine>& line) {
  EXPECT_EQ(line.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(line.status().message());
}

class File {
 public:
  explicit File(const std::string& text)
      : path_(std::filesystem::temp_directory_path() / ("command_line_test." + std::to_string(getpid()))) {
    std::ofstream(path_) << text;
  }
  ~File() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  const std::filesystem::path path_;
};

TEST(CommandLine, FlagsAreReadAndTheRestHasDefaults) {
  const auto line = Parse({"--model-repository", "a", "--model-store=b", "--grpc-port=0", "--device", "cuda:1",
                           "--operator-library", "x.so", "--operator-threads", "4"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_THAT(line->settings.model_repository(), ElementsAre("a", "b"));
  EXPECT_EQ(line->settings.grpc_port(), 0);
  EXPECT_EQ(line->settings.http_port(), 8000);
  EXPECT_EQ(line->settings.device(), "cuda:1");
  EXPECT_THAT(line->settings.operator_library(), ElementsAre("x.so"));
  EXPECT_EQ(line->settings.operator_threads(), 4);
  EXPECT_EQ(line->print, "");
}

TEST(CommandLine, EverySettingHasAFlagThatTakesItsDefault) {
  for (const SettingField& field : Fields()) {
    const std::string text = TextOf(field, config::Settings::default_instance());
    if (text.empty()) continue;
    EXPECT_TRUE(ParseMore({field.flag + "=" + text}).ok()) << field.flag << " " << text;
  }
}

TEST(CommandLine, SizesHaveUnits) {
  const auto line = ParseMore({"--memory-limit", "2GiB", "--load-memory-limit", "0", "--kept-memory=64MiB"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->settings.memory_limit(), int64_t{2} << 30);
  EXPECT_EQ(line->settings.load_memory_limit(), 0);
  EXPECT_EQ(line->settings.kept_memory(), 64 << 20);
  EXPECT_GT(line->settings.requests_memory_limit(), 1 << 20);
  EXPECT_THAT(CommandLineError(ParseMore({"--memory-limit", "much"})),
              HasSubstr("--memory-limit: 'much' is not a size"));
}

TEST(CommandLine, AFlagThatIsOnOrOffNeedsNoValueAndTakesAny) {
  EXPECT_TRUE(ParseMore({"--strict-readiness"})->settings.strict_readiness());
  EXPECT_TRUE(ParseMore({"--strict-readiness", "--device", "cpu"})->settings.strict_readiness());
  EXPECT_TRUE(ParseMore({"--strict-readiness", "True"})->settings.strict_readiness());
  EXPECT_FALSE(ParseMore({"--strict-readiness=0"})->settings.strict_readiness());
  EXPECT_FALSE(ParseMore({"--compiler", "off"})->settings.compiler());
  EXPECT_THAT(CommandLineError(ParseMore({"--compiler=maybe"})), HasSubstr("--compiler: 'maybe' is not true or false"));
}

TEST(CommandLine, TheLastOfAFlagGivenTwiceCounts) {
  EXPECT_EQ(ParseMore({"--grpc-port=1", "--grpc-port=2"})->settings.grpc_port(), 2);
}

TEST(CommandLine, AFlagWinsOverTheFile) {
  const File file(R"(model_repository: "m"  grpc_port: 5  threads: 3  strict_readiness: true  # a comment)");
  auto line = Parse({"--config", file.path(), "--grpc-port", "7"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->settings.grpc_port(), 7);
  EXPECT_EQ(line->settings.threads(), 3);
  EXPECT_TRUE(line->settings.strict_readiness());
  EXPECT_THAT(line->settings.model_repository(), ElementsAre("m"));
  line = Parse({"--model-repository=n", "--config", file.path()});
  EXPECT_THAT(line->settings.model_repository(), ElementsAre("n"));
}

TEST(CommandLine, TheSummaryIsWhatDiffersFromDefaults) {
  EXPECT_EQ(ParseMore({"--grpc-port=9000", "--http-port=8000", "--memory-limit=1GiB", "--log-format=JSON"})->summary,
            "model_repository [a], grpc_port 9000, memory_limit 1 GiB, log_format json");
}

TEST(CommandLine, TritonsFlagsHaveItsMeaning) {
  const auto line = ParseMore({"--model-control-mode=POLL", "--repository-poll-secs=5", "--model-load-thread-count=3",
                               "--exit-timeout-secs=7", "--exit-on-error=0", "--strict-readiness", "false",
                               "--allow-metrics=False", "--grpc-keepalive-time=1000", "--log-format=iso8601"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->settings.model_control_mode(), "poll");
  EXPECT_EQ(line->settings.repository_poll_secs(), 5);
  EXPECT_EQ(line->settings.load_threads(), 3);
  EXPECT_EQ(line->settings.drain_seconds(), 7);
  EXPECT_FALSE(line->settings.exit_on_error());
  EXPECT_FALSE(line->settings.strict_readiness());
  EXPECT_FALSE(line->settings.allow_metrics());
  EXPECT_EQ(line->settings.grpc_keepalive_time(), 1000);
  EXPECT_EQ(line->settings.log_format(), "ISO8601");
  EXPECT_THAT(line->warnings, IsEmpty());
}

TEST(CommandLine, TheCachesSizeCanBeSaidInTritonsWay) {
  EXPECT_EQ(ParseMore({"--cache-config=local,size=1048576"})->settings.response_cache_byte_size(), 1048576);
  EXPECT_EQ(ParseMore({"--response-cache-byte-size", "1MiB"})->settings.response_cache_byte_size(), 1048576);
  for (const char* wrong : {"redis,host=here", "local,size=", "local,size=1MiB", "local"}) {
    EXPECT_THAT(CommandLineError(ParseMore({"--cache-config", wrong})), HasSubstr("is not local,size=BYTES")) << wrong;
  }
  EXPECT_THAT(CommandLineError(ParseMore({"--cache-config=local,size=-1"})),
              HasSubstr("response_cache_byte_size must be at least 0"));
}

TEST(CommandLine, WhatHasNoEffectIsWarnedOf) {
  const auto line =
      ParseMore({"--backend-config=pytorch,a=b", "--backend-config", "c=d", "--disable-auto-complete-config",
                 "--load-model=m", "--repository-poll-secs=5", "--model-namespacing=false"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_THAT(line->warnings,
              ElementsAre(HasSubstr("--disable-auto-complete-config has no effect"),
                          HasSubstr("--backend-config has no effect"), HasSubstr("--backend-config has no effect"),
                          HasSubstr("load_model has no effect"), HasSubstr("repository_poll_secs has no effect")));
  EXPECT_THAT(CommandLineError(ParseMore({"--reuse-grpc-port=1"})), HasSubstr("--reuse-grpc-port is not offered"));
}

TEST(CommandLine, UnderTritonsNameItListensWhereTritonDoes) {
  EXPECT_EQ(Parse({"--model-store=a"}, "hearthd")->settings.grpc_address(), "localhost");
  EXPECT_EQ(Parse({"--model-store=a"}, "tritonserver")->settings.grpc_address(), "0.0.0.0");
  const auto line = Parse({"--model-store=a", "--host=::1", "--http-address=127.0.0.1"}, "tritonserver");
  EXPECT_EQ(line->settings.grpc_address(), "::1");
  EXPECT_EQ(line->settings.http_address(), "127.0.0.1");
  EXPECT_EQ(line->settings.metrics_address(), "127.0.0.1");
}

TEST(CommandLine, WhatIsWrongIsNamed) {
  EXPECT_THAT(CommandLineError(Parse({})), HasSubstr("--model-repository is required"));
  EXPECT_EQ(CommandLineError(ParseMore({"--grpc-prot", "1"})),
            "there is no flag --grpc-prot; did you mean --grpc-port?");
  EXPECT_EQ(CommandLineError(ParseMore({"--grpc_port=1"})), "there is no flag --grpc_port; did you mean --grpc-port?");
  EXPECT_EQ(CommandLineError(ParseMore({"--zzz"})), "there is no flag --zzz");
  EXPECT_EQ(CommandLineError(ParseMore({"stray"})), "unexpected argument 'stray'");
  EXPECT_THAT(CommandLineError(ParseMore({"--grpc-port", "x"})), HasSubstr("--grpc-port: 'x' is not a number"));
  EXPECT_THAT(CommandLineError(Parse({"--config", "/nowhere"})), HasSubstr("there is no file /nowhere"));
}

TEST(CommandLine, HelpVersionAndTheTableArePrinted) {
  const std::string help = Parse({"--help"})->print;
  for (const SettingField& field : Fields()) {
    for (const std::string& flag : field.flags) EXPECT_THAT(help, HasSubstr(flag));
  }
  EXPECT_THAT(Parse({"--version"})->print, HasSubstr("hearthd 0."));
  EXPECT_THAT(Parse({"--print-settings"})->print, HasSubstr("| `--max-plans N` | `max_plans` | `4096` |"));
}

}  // namespace
}  // namespace hearth::server
