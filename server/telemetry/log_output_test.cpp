#include "server/telemetry/log_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "jit/support/logging.h"
#include "server/telemetry/log_control.h"

namespace hearth::server {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class LogOutputTest : public ::testing::Test {
 protected:
  LogOutputTest() : file_(fs::temp_directory_path() / ("log_output_test." + std::to_string(getpid()))) {}
  ~LogOutputTest() override {
    fs::remove(file_);
    fs::remove(fs::path(file_.string() + ".1"));
    ApplyLogLevels({});
  }

  static std::string Read(const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }

  const fs::path file_;
};

TEST_F(LogOutputTest, LinesHaveTheFormThatWasAskedFor) {
  {
    const auto output = LogOutput::Open(file_, LogFormat::kDefault);
    ASSERT_TRUE(output.ok());
    LoggerOf("test").info("one");
  }
  EXPECT_THAT(Read(file_), MatchesRegex("20[0-9-]+T[0-9:]+\\.[0-9]+[+-][0-9:]+ I test: one\n"));
  fs::remove(file_);
  {
    const auto output = LogOutput::Open(file_, LogFormat::kIso8601);
    LoggerOf("test").warn("two");
  }
  EXPECT_THAT(Read(file_), MatchesRegex("20[0-9-]+T[0-9]+:[0-9]+:[0-9]+Z W test: two\n"));
}

TEST_F(LogOutputTest, LinesOfJsonAreObjectsWhateverTheMessageHolds) {
  const auto output = LogOutput::Open(file_, LogFormat::kJson);
  LoggerOf("test").error("a \"quote\"\nand \xff");
  const std::string text = Read(file_);
  ASSERT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  const auto line = nlohmann::json::parse(text);
  EXPECT_EQ(line["level"], "error");
  EXPECT_EQ(line["logger"], "test");
  EXPECT_THAT(line["message"].get<std::string>(), HasSubstr("a \"quote\""));
  EXPECT_THAT(line["time"].get<std::string>(), MatchesRegex("20[0-9-]+T[0-9]+:[0-9]+:[0-9]+\\.[0-9][0-9][0-9]Z"));
}

TEST_F(LogOutputTest, AFileThatWasRenamedIsOpenedAnew) {
  const auto output = LogOutput::Open(file_, LogFormat::kDefault);
  LoggerOf("test").info("before");
  fs::rename(file_, file_.string() + ".1");
  LoggerOf("test").info("between");
  ASSERT_TRUE((*output)->Reopen().ok());
  LoggerOf("test").info("after");
  EXPECT_THAT(Read(file_.string() + ".1"), HasSubstr("between"));
  EXPECT_THAT(Read(file_), HasSubstr("after"));
}

TEST_F(LogOutputTest, AFileThatCannotBeOpenedIsNamed) {
  EXPECT_THAT(LogOutput::Open("/proc/nowhere/log", LogFormat::kDefault).status().message(),
              HasSubstr("/proc/nowhere/log"));
}

TEST_F(LogOutputTest, TheLeastSevereKindThatIsOnCounts) {
  const auto enabled = [](const LogLevels& levels, spdlog::level::level_enum level) {
    ApplyLogLevels(levels);
    return LoggerOf("test").should_log(level);
  };
  EXPECT_TRUE(enabled({}, spdlog::level::info));
  EXPECT_FALSE(enabled({}, spdlog::level::debug));
  EXPECT_TRUE(enabled({.verbose = 1}, spdlog::level::debug));
  EXPECT_FALSE(enabled({.verbose = 1}, spdlog::level::trace));
  EXPECT_TRUE(enabled({.verbose = 2, .info = false}, spdlog::level::trace));
  EXPECT_FALSE(enabled({.info = false}, spdlog::level::info));
  EXPECT_TRUE(enabled({.info = false}, spdlog::level::warn));
  EXPECT_FALSE(enabled({.info = false, .warning = false}, spdlog::level::warn));
  EXPECT_FALSE(enabled({.info = false, .warning = false, .error = false}, spdlog::level::err));
}

}  // namespace
}  // namespace hearth::server
