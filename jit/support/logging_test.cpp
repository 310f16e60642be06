#include "jit/support/logging.h"

#include <sstream>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

namespace hearth {
namespace {

class LoggingTest : public testing::Test {
 protected:
  LoggingTest() {
    auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(lines_);
    sink->set_pattern("%l %n: %v");
    SetLogSink(sink);
  }
  ~LoggingTest() override {
    SetLogSink(nullptr);
    SetLogLevels("");
  }
  std::ostringstream lines_;
};

TEST_F(LoggingTest, WithoutAnyLevelInfoIsShownAndDebugIsNot) {
  SetLogLevels("");
  LoggerOf("passes").info("seen");
  LoggerOf("passes").debug("hidden");
  EXPECT_EQ(lines_.str(), "info passes: seen\n");
}

TEST_F(LoggingTest, AFilesLevelWinsOverItsRoomsAndTheRoomsOverTheBareOne) {
  SetLogLevels("passes/inline=debug,passes=error,warn");
  LoggerOf("passes/inline").debug("file");
  LoggerOf("passes/freeze").warn("hidden");
  LoggerOf("passes/freeze").error("room");
  LoggerOf("archive/importer").info("hidden");
  LoggerOf("archive/importer").warn("bare");
  EXPECT_EQ(lines_.str(), "debug passes/inline: file\nerror passes/freeze: room\nwarning archive/importer: bare\n");
}

TEST_F(LoggingTest, ARoomWhoseNameBeginsAnothersDoesNotGiveItItsLevel) {
  SetLogLevels("ir=debug");
  LoggerOf("irregular").debug("hidden");
  EXPECT_EQ(lines_.str(), "");
}

TEST_F(LoggingTest, LevelsChangeForLoggersThatAreHeldAlready) {
  spdlog::logger& held = LoggerOf("executor");
  SetLogLevels("executor=trace");
  held.trace("now seen");
  SetLogLevels("executor=off");
  held.critical("hidden");
  EXPECT_EQ(lines_.str(), "trace executor: now seen\n");
}

TEST_F(LoggingTest, AnUnknownLevelIsNamedAndChangesNothing) {
  SetLogLevels("ir=debug");
  try {
    SetLogLevels("ir=error,frontend=loud");
    FAIL() << "expected std::invalid_argument";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("\"loud\""), std::string::npos) << error.what();
  }
  LoggerOf("ir").debug("still debug");
  EXPECT_EQ(lines_.str(), "debug ir: still debug\n");
}

TEST_F(LoggingTest, TheSameNameIsTheSameLoggerFromEveryThread) {
  spdlog::logger* here = &LoggerOf("interpreter/pool");
  spdlog::logger* there = nullptr;
  std::thread([&] { there = &LoggerOf("interpreter/pool"); }).join();
  EXPECT_EQ(here, there);
}

}  // namespace
}  // namespace hearth
