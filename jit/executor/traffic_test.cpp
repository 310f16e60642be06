#include "jit/executor/traffic.h"

#include <gtest/gtest.h>

#include <latch>
#include <thread>
#include <vector>

namespace hearth {
namespace {

const Traffic::Clock::time_point kStart{std::chrono::hours(1)};

TEST(TrafficTest, NothingIsServedWhereNobodyCame) {
  Traffic traffic;
  EXPECT_FALSE(traffic.IsServing(kStart));
  EXPECT_FALSE(traffic.IsServing(kStart + std::chrono::hours(1)));
}

TEST(TrafficTest, ACallIsServedUntilItsEndAndAMomentLonger) {
  Traffic traffic;
  traffic.Begin();
  EXPECT_TRUE(traffic.IsServing(kStart));
  auto now = kStart + std::chrono::hours(1);
  EXPECT_TRUE(traffic.IsServing(now));
  std::thread([&] { traffic.End(); }).join();
  EXPECT_TRUE(traffic.IsServing(now += Traffic::kMoment - std::chrono::nanoseconds(1)));
  EXPECT_FALSE(traffic.IsServing(now += std::chrono::nanoseconds(1)));
}

TEST(TrafficTest, ACallThatCameAndWentBetweenTwoQuestionsIsSeen) {
  Traffic traffic;
  EXPECT_FALSE(traffic.IsServing(kStart));
  traffic.Begin();
  traffic.End();
  auto now = kStart + std::chrono::minutes(1);
  EXPECT_TRUE(traffic.IsServing(now));
  EXPECT_FALSE(traffic.IsServing(now += Traffic::kMoment));
  traffic.Begin();
  traffic.End();
  EXPECT_TRUE(traffic.IsServing(now));
}

TEST(TrafficTest, CallsOnManyThreadsAreSeenAsLongAsOneIsUnderWay) {
  Traffic traffic;
  constexpr int kThreads = 100;
  std::latch begun(kThreads), seen(1);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        traffic.Begin();
        if (t > 0) traffic.End();
        begun.count_down();
        seen.wait();
        if (t == 0) traffic.End();
      });
    }
    begun.wait();
    EXPECT_TRUE(traffic.IsServing(kStart));
    EXPECT_TRUE(traffic.IsServing(kStart + std::chrono::hours(1)));
    seen.count_down();
  }
  EXPECT_FALSE(traffic.IsServing(kStart + std::chrono::hours(2)));
}

}  // namespace
}  // namespace hearth
