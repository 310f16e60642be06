#include "server/scheduling/batch_delay.h"

#include <gtest/gtest.h>

#include <optional>

namespace hearth::server {
namespace {

using std::chrono::milliseconds;

// Time passes only where a test says so, in milliseconds. A run is free since the last one ended.
class BatchDelayTest : public ::testing::Test {
 protected:
  // How long calls wait that are there since now, a run being free.
  double WaitOf(int64_t calls) const {
    const auto end = delay_.WaitEnd(calls, now_, now_);
    return end <= now_ ? 0 : std::chrono::duration<double, std::milli>(end - now_).count();
  }
  void Pass(milliseconds time) { now_ += time; }
  void Come(int64_t calls) { delay_.Came(calls, now_); }
  // All of these calls, which came, are answered by one run that takes 10 ms and one more for each call.
  void Run(int64_t calls) {
    const milliseconds time(10 + calls);
    Pass(time);
    delay_.Ran(calls, time);
    delay_.Left(calls, now_);
  }
  // Clients that ask again so much later when they are answered: runs of one of them and of all take turns. All have
  // been answered now.
  void AskInALoop(int64_t clients, milliseconds return_time, int times = 20) {
    for (int i = 0; i < times; ++i) {
      Pass(return_time);
      Come(clients);
      Run(1);
      Pass(return_time);
      Come(1);
      Run(clients);
    }
  }

  BatchDelay delay_{std::nullopt};
  BatchDelay::TimePoint now_{std::chrono::hours(1)};
};

TEST_F(BatchDelayTest, ALoneClientNeverWaits) {
  for (int i = 0; i < 100; ++i) {
    Come(1);
    EXPECT_EQ(WaitOf(1), 0);
    Run(1);
    Pass(milliseconds(i % 7));
  }
}

TEST_F(BatchDelayTest, AWaitIsWorthTheFixedTimeOfARunByThePartOfThoseWhoAreToCome) {
  Come(8);
  Run(8);
  delay_.Ran(2, milliseconds(12));
  Pass(milliseconds(6));
  Come(1);
  EXPECT_NEAR(WaitOf(1), 10 * 7 / 8.0, 1e-3);
  Come(1);
  EXPECT_NEAR(WaitOf(2), 10 * 6 / 8.0, 1e-3);
}

TEST_F(BatchDelayTest, NobodyIsWaitedForOnceAllAreThere) {
  AskInALoop(4, milliseconds(1));
  Come(3);
  EXPECT_GT(WaitOf(3), 0);
  Come(1);
  EXPECT_EQ(WaitOf(4), 0);
}

TEST_F(BatchDelayTest, CallsInARunAreNotExpected) {
  AskInALoop(4, milliseconds(1));
  Come(4);
  EXPECT_EQ(WaitOf(1), 0) << "the other three are in a run";
}

TEST_F(BatchDelayTest, WhoIsLaterThanUsualComesNoMore) {
  AskInALoop(4, milliseconds(1));
  Pass(milliseconds(1));
  Come(3);
  Pass(milliseconds(1));
  EXPECT_EQ(WaitOf(3), 0) << "calls have followed their answers after a millisecond";
}

TEST_F(BatchDelayTest, ClientsThatThinkForLongAreNotWaitedFor) {
  AskInALoop(4, milliseconds(50));
  Come(1);
  EXPECT_EQ(WaitOf(1), 0);
  Run(1);
  AskInALoop(4, milliseconds(1));
  Come(1);
  EXPECT_GT(WaitOf(1), 0) << "until they answer at once";
}

TEST_F(BatchDelayTest, AfterAPauseClientsAreSoonWaitedForAgain) {
  AskInALoop(4, milliseconds(1));
  Pass(std::chrono::hours(1));
  AskInALoop(4, milliseconds(1), /*times=*/2);
  Come(1);
  EXPECT_GT(WaitOf(1), 0);
}

TEST_F(BatchDelayTest, AWaitThatEndsShowsHowManyThereAre) {
  AskInALoop(4, milliseconds(1));
  Come(2);
  EXPECT_GT(WaitOf(2), 0);
  delay_.WaitEnded();
  EXPECT_EQ(WaitOf(2), 0);
  Run(2);
  Come(1);
  EXPECT_GT(WaitOf(1), 0) << "one more is expected, not three";
  Come(1);
  EXPECT_EQ(WaitOf(2), 0);
}

TEST_F(BatchDelayTest, NobodyIsWaitedForWhereRowsTakeAllOfTheTime) {
  for (int i = 0; i < 20; ++i) {
    Come(4);
    for (const int64_t rows : {1, 3}) delay_.Ran(rows, milliseconds(5 * rows));
    delay_.Left(4, now_);
  }
  Come(1);
  EXPECT_LT(WaitOf(1), 1e-3);
}

TEST_F(BatchDelayTest, NobodyIsWaitedForWhereRunsAreShort) {
  delay_.Ran(1, std::chrono::microseconds(900));
  Come(2);
  delay_.Left(1, now_);
  EXPECT_EQ(WaitOf(1), 0);
  delay_.Ran(1, std::chrono::microseconds(1300));
  EXPECT_GT(WaitOf(1), 0);
}

TEST_F(BatchDelayTest, LastRunsCount) {
  for (int i = 0; i < 10; ++i) delay_.Ran(1 + i % 2, milliseconds(100));
  for (int i = 0; i < 64; ++i) delay_.Ran(1 + i % 2, milliseconds(10));
  Come(2);
  delay_.Left(1, now_);
  EXPECT_NEAR(WaitOf(1), 5, 1e-3);
}

TEST_F(BatchDelayTest, TheTimeInWhichNoRunWasFreeDoesNotCount) {
  Come(8);
  Run(8);
  Come(2);
  Run(2);
  Come(4);
  const auto end = delay_.WaitEnd(4, now_ - milliseconds(30), now_);
  EXPECT_GT(end, now_);
  EXPECT_EQ(end, delay_.WaitEnd(4, now_, now_ - milliseconds(30)));
}

TEST_F(BatchDelayTest, AConfiguredDelayIsWaitedUntilAWaitShowsThatAllAreThere) {
  BatchDelay delay(milliseconds(5));
  const auto wait = [&](int64_t calls) { return delay.WaitEnd(calls, now_, now_ - milliseconds(9)) - now_; };
  delay.Came(1, now_);
  EXPECT_EQ(wait(1), milliseconds(5)) << "nothing is known yet";
  delay.WaitEnded();
  delay.Left(1, now_);
  delay.Came(1, now_);
  EXPECT_EQ(wait(1), milliseconds(0)) << "a lone client";
  delay.Came(1, now_);
  EXPECT_EQ(wait(2), milliseconds(5)) << "another one has come, and there may be more";
  delay.WaitEnded();
  EXPECT_EQ(wait(2), milliseconds(0));
  delay.Left(1, now_);
  EXPECT_EQ(wait(1), milliseconds(5)) << "it will be back";
}

TEST_F(BatchDelayTest, AConfiguredDelayOfZeroIsNoWait) {
  BatchDelay delay(milliseconds(0));
  delay.Came(2, now_);
  delay.Left(1, now_);
  EXPECT_EQ(delay.WaitEnd(1, now_, now_), now_);
}

}  // namespace
}  // namespace hearth::server
