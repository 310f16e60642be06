#include "server/scheduling/queue_control.h"

#include <gtest/gtest.h>

namespace hearth::server {
namespace {

using std::chrono::milliseconds;

constexpr QueueControl::TimePoint kStart{std::chrono::hours(1)};

milliseconds WaitAt(const QueueControl& control, int64_t place) {
  return std::chrono::round<milliseconds>(control.WaitAt(place));
}

TEST(QueueControl, AWaitIsToldFromHowFastCallsLeave) {
  QueueControl control(milliseconds(0));
  EXPECT_EQ(WaitAt(control, 100), milliseconds(0)) << "nobody can tell yet";
  auto now = kStart;
  control.Left(1, true, now);
  for (int i = 0; i < 10; ++i) control.Left(1, true, now += milliseconds(20));
  EXPECT_EQ(WaitAt(control, 1), milliseconds(20));
  EXPECT_EQ(WaitAt(control, 5), milliseconds(100));
}

TEST(QueueControl, TimeInWhichNobodyWaitedIsNotCounted) {
  QueueControl control(milliseconds(0));
  control.Left(1, true, kStart);
  control.Left(1, false, kStart + milliseconds(10));
  control.Left(1, true, kStart + std::chrono::seconds(100));
  control.Left(1, false, kStart + std::chrono::seconds(100) + milliseconds(10));
  EXPECT_EQ(WaitAt(control, 1), milliseconds(10));
}

TEST(QueueControl, ABatchTakesAllItsCalls) {
  QueueControl control(milliseconds(0));
  auto now = kStart;
  control.Left(8, true, now);
  for (int i = 0; i < 10; ++i) control.Left(8, true, now += milliseconds(16));
  EXPECT_EQ(WaitAt(control, 8), milliseconds(16));
}

TEST(QueueControl, TheLatestCountMost) {
  QueueControl control(milliseconds(0));
  auto now = kStart;
  control.Left(1, true, now);
  for (int i = 0; i < 1000; ++i) control.Left(1, true, now += milliseconds(1));
  for (int i = 0; i < 100; ++i) control.Left(1, true, now += milliseconds(50));
  EXPECT_GE(WaitAt(control, 1), milliseconds(49));
}

TEST(QueueControl, ABurstMayWaitForTheBoundAndAStandingQueueForATenthOfIt) {
  QueueControl control(milliseconds(500));
  control.FoundEmpty(kStart);
  EXPECT_EQ(control.AllowedWait(kStart + milliseconds(500)), milliseconds(500));
  EXPECT_EQ(control.AllowedWait(kStart + milliseconds(501)), milliseconds(50));
  control.FoundEmpty(kStart + milliseconds(600));
  EXPECT_EQ(control.AllowedWait(kStart + milliseconds(601)), milliseconds(500));
}

TEST(QueueControl, WithoutABoundCallsWaitForAnyTime) {
  QueueControl control(milliseconds(0));
  control.FoundEmpty(kStart);
  EXPECT_EQ(control.AllowedWait(kStart + std::chrono::hours(1)), QueueControl::Duration::max());
}

}  // namespace
}  // namespace hearth::server
