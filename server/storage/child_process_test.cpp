#include "server/storage/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace hearth::server {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kMost = 1 << 20;

absl::StatusOr<ProgramOutput> Shell(const std::string& script, size_t most = kMost, const std::stop_token& stop = {}) {
  return RunProgram({"sh", "-c", script}, {"HEARTH_LEFT_OUT"}, most, stop);
}

TEST(RunProgram, WhatItWritesAndHowItEndsIsTold) {
  const auto ended = Shell("echo out; echo wrong >&2; exit 3");
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(ended->status, 3);
  EXPECT_EQ(ended->output, "out\n");
  EXPECT_EQ(ended->errors, "wrong\n");
  EXPECT_EQ(Shell("kill -9 $$")->status, 128 + 9);
}

TEST(RunProgram, MuchIsReadWhileItRuns) {
  const auto ended = Shell("head -c 900000 /dev/zero; head -c 900000 /dev/zero >&2; echo last >&2");
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(ended->output.size(), 900'000U);
  EXPECT_LE(ended->errors.size(), 4096U);
  EXPECT_THAT(ended->errors, EndsWith("last\n"));
}

TEST(RunProgram, ItHasNoInputAndNotAllOfTheEnvironment) {
  setenv("HEARTH_LEFT_OUT", "secret", 1);
  setenv("HEARTH_LEFT_OUT_NOT", "told", 1);
  const auto ended = Shell("cat; env");
  unsetenv("HEARTH_LEFT_OUT");
  unsetenv("HEARTH_LEFT_OUT_NOT");
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_THAT(ended->output, HasSubstr("HEARTH_LEFT_OUT_NOT=told"));
  EXPECT_THAT(ended->output, Not(HasSubstr("secret")));
}

TEST(RunProgram, OneThatIsNotThereIsNotFound) {
  const auto ended = RunProgram({"hearth-no-such-program"}, {}, kMost, {});
  EXPECT_EQ(ended.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(ended.status().message()), HasSubstr("hearth-no-such-program"));
}

TEST(RunProgram, OneThatWritesWithoutEndIsKilled) {
  EXPECT_EQ(Shell("yes", 1000).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(RunProgram, OneIsKilledWhereSomebodyStopsIt) {
  std::stop_source stop;
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop.request_stop();
  });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(Shell("exec sleep 100", kMost, stop.get_token()).status().code(), absl::StatusCode::kCancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(50));
}

}  // namespace
}  // namespace hearth::server
