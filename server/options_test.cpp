#include "server/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace hearth::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<CommandLine> Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "hearthd");
  return ParseCommandLine(static_cast<int>(arguments.size()), arguments.data());
}

std::string ErrorOf(std::vector<const char*> arguments) {
  const absl::Status status = Parse(std::move(arguments)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(Options, FlagsAreReadAndTheRestHasDefaults) {
  const auto line = Parse({"--model-repository", "a", "--model-repository=b", "--grpc-port", "0", "--device", "cuda:1",
                           "--operator-library", "x.so", "--operator-threads", "4"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_THAT(line->options.model_repositories, ElementsAre("a", "b"));
  EXPECT_EQ(line->options.grpc_port, 0);
  EXPECT_EQ(line->options.http_port, 8000);
  EXPECT_EQ(line->options.metrics_port, 8002);
  EXPECT_EQ(line->options.device, "cuda:1");
  EXPECT_THAT(line->options.operator_libraries, ElementsAre("x.so"));
  EXPECT_EQ(line->options.operator_threads, 4);
  EXPECT_THAT(ErrorOf({"--model-repository", "a", "--operator-threads", "-1"}), HasSubstr("operator_threads"));
}

TEST(Options, MemoryLimitsAreReadWithTheirUnits) {
  const auto line = Parse(
      {"--model-repository", "a", "--memory-limit", "2GiB", "--load-memory-limit", "0", "--kept-memory", "64MiB"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->options.memory_limit, int64_t{2} << 30);
  EXPECT_EQ(line->options.load_memory_limit, 0);
  EXPECT_EQ(line->options.kept_memory, 64 << 20);
  EXPECT_GT(DefaultMemoryLimit(), 1 << 20);
  EXPECT_THAT(ErrorOf({"--model-repository", "a", "--memory-limit", "much"}), HasSubstr("memory-limit"));
}

TEST(Options, WhatTheCompilerMayDoIsSetByFlagsAndByTheFile) {
  const auto line =
      Parse({"--model-repository", "a", "--compile-after", "5", "--exact-after", "0", "--max-plans", "7",
             "--plan-bytes", "1MiB", "--job-memory", "0", "--job-seconds", "2.5", "--weight-copies", "2GiB"});
  ASSERT_TRUE(line.ok()) << line.status();
  const auto file = ParseConfigFile(R"({"compile_after": 5, "exact_after": 0, "max_plans": 7, "plan_bytes": 1048576,
                                        "job_memory": 0, "job_seconds": 2.5, "weight_copies": 2147483648})",
                                    "f.json", {});
  ASSERT_TRUE(file.ok()) << file.status();
  for (const ServerOptions& options : {line->options, *file}) {
    EXPECT_EQ(options.compile_after, 5);
    EXPECT_EQ(options.exact_after, 0);
    EXPECT_EQ(options.max_plans, 7);
    EXPECT_EQ(options.plan_bytes, 1 << 20);
    EXPECT_EQ(options.job_memory, 0);
    EXPECT_EQ(options.job_seconds, 2.5);
    EXPECT_EQ(options.weight_copies, int64_t{2} << 30);
  }
}

TEST(Options, WhatTheCompilerMayNotDoIsRefusedAndNamed) {
  EXPECT_THAT(ErrorOf({"--model-repository", "a", "--compile-after", "0"}), HasSubstr("compile_after"));
  EXPECT_THAT(ErrorOf({"--model-repository", "a", "--exact-after=-1"}), HasSubstr("exact_after"));
  EXPECT_THAT(ErrorOf({"--model-repository", "a", "--max-plans", "0"}), HasSubstr("max_plans"));
  EXPECT_THAT(ErrorOf({"--model-repository", "a", "--plan-bytes", "0"}), HasSubstr("plan_bytes"));
  EXPECT_THAT(ErrorOf({"--model-repository", "a", "--weight-copies", "much"}), HasSubstr("weight-copies"));
}

TEST(Options, AFlagWinsOverTheFile) {
  const auto file = std::filesystem::temp_directory_path() / ("options_test." + std::to_string(getpid()));
  std::ofstream(file) << R"({
    // Comments are allowed.
    "model_repositories": ["m"], "grpc_port": 5, "threads": 3, "strict_readiness": true
  })";
  const std::string path = file.string();
  const auto line = Parse({"--config", path.c_str(), "--grpc-port", "7"});
  std::filesystem::remove(file);
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->options.grpc_port, 7);
  EXPECT_EQ(line->options.threads, 3);
  EXPECT_TRUE(line->options.strict_readiness);
  EXPECT_THAT(line->options.model_repositories, ElementsAre("m"));
}

TEST(Options, WhatIsWrongIsNamed) {
  EXPECT_THAT(ErrorOf({}), HasSubstr("--model-repository is required"));
  EXPECT_THAT(ErrorOf({"--model-repository", "a", "--grpc-prot", "1"}), HasSubstr("--grpc-prot"));
  EXPECT_THAT(ErrorOf({"--model-repository", "a", "--grpc-port", "x"}), HasSubstr("x"));
  EXPECT_THAT(ErrorOf({"--model-repository", "a", "--grpc-port", "70000"}), HasSubstr("70000"));
  EXPECT_THAT(ErrorOf({"--model-repository", "a", "--grpc-port", "9", "--http-port", "9"}),
              HasSubstr("gRPC and HTTP cannot both have the port 9"));
  EXPECT_THAT(ErrorOf({"--model-repository", "a", "--metrics-port", "8000"}),
              HasSubstr("HTTP and metrics cannot both have the port 8000"));
  EXPECT_THAT(ErrorOf({"--model-repository", "a", "--shadow-share", "2"}), HasSubstr("between 0 and 1"));
  EXPECT_THAT(ErrorOf({"--config", "/nowhere"}), HasSubstr("/nowhere"));
}

TEST(Options, AFilesMistakesAreNamed) {
  const auto error = [](const std::string& text) {
    return std::string(ParseConfigFile(text, "f.json", {}).status().message());
  };
  EXPECT_THAT(error("{"), HasSubstr("f.json: "));
  EXPECT_THAT(error("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(error(R"({"grpc_prot": 1})"), HasSubstr("no setting 'grpc_prot'"));
  EXPECT_THAT(error(R"({"grpc_port": "one"})"), HasSubstr("'grpc_port' cannot be \"one\""));
}

TEST(Options, HelpAndVersionArePrinted) {
  EXPECT_THAT(Parse({"--help"})->print, HasSubstr("--model-repository"));
  EXPECT_THAT(Parse({"--version"})->print, HasSubstr("hearthd 0."));
}

}  // namespace
}  // namespace hearth::server
