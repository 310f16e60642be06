#include "server/scheduling/fair_shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace hearth::server {
namespace {

using std::chrono::milliseconds;

// Models with one slot, a clock that stands still but for runs, and the order in which those start.
class FairSharesTest : public ::testing::Test {
 protected:
  // Always has `backlog` more runs that wait, each of which takes `time`.
  struct Queue : SlotWaiter {
    bool UseSlot(const RunSlot& slot) override {
      if (backlog == 0) return false;
      --backlog;
      given = slot;
      return true;
    }
    ModelShare* share = nullptr;
    int backlog = 0;
    milliseconds time{1};
    RunSlot given;
  };

  std::shared_ptr<Queue> Add(const std::string& name, milliseconds time, int backlog, double weight = 1) {
    auto queue = std::make_shared<Queue>();
    queue->share = &shares_.ShareOf(name, weight);
    queue->time = time;
    queue->backlog = backlog;
    names_[queue.get()] = name;
    return queue;
  }
  void Wait(const std::shared_ptr<Queue>& queue) { shares_.Wait(*queue->share, queue); }

  // So many runs, one after the other; each queue waits again while it has a backlog. Gives their names.
  std::string Run(int runs) {
    std::string order;
    for (int i = 0; i < runs; ++i) {
      const auto grant = shares_.Next(now_);
      if (!grant) break;
      auto& queue = static_cast<Queue&>(*grant->waiter);
      if (!queue.UseSlot(grant->slot)) {
        shares_.GiveBack(grant->slot);
        continue;
      }
      order += names_.at(&queue);
      if (queue.backlog > 0) shares_.Wait(*queue.share, grant->waiter);
      now_ += queue.time;
      shares_.Free(queue.given, now_);
    }
    return order;
  }

  FairShares shares_{1};
  FairShares::TimePoint now_{std::chrono::hours(1)};
  std::map<const Queue*, std::string> names_;
};

TEST_F(FairSharesTest, ModelsThatWaitTakeTurns) {
  const auto a = Add("a", milliseconds(10), 100);
  const auto b = Add("b", milliseconds(10), 100);
  Wait(a);
  Wait(b);
  EXPECT_EQ(Run(10), "ababababab");
}

TEST_F(FairSharesTest, AModelOfLongRunsHasNoMoreTimeThanOneOfShortRuns) {
  const auto slow = Add("s", milliseconds(50), 1000);
  const auto quick = Add("q", milliseconds(1), 1000);
  Wait(slow);
  Wait(quick);
  const std::string order = Run(511);
  const auto slow_runs = std::ranges::count(order, 's');
  EXPECT_GE(slow_runs, 9);
  EXPECT_LE(slow_runs, 11);
}

TEST_F(FairSharesTest, AModelOfTwiceTheWeightHasTwiceTheTime) {
  const auto heavy = Add("h", milliseconds(10), 1000, 1);
  const auto light = Add("l", milliseconds(10), 1000, 0.5);
  Wait(heavy);
  Wait(light);
  const auto heavy_runs = std::ranges::count(Run(300), 'h');
  EXPECT_GE(heavy_runs, 198);
  EXPECT_LE(heavy_runs, 202);
}

TEST_F(FairSharesTest, WhoComesAfterALongFloodOfAnotherIsNext) {
  const auto flood = Add("f", milliseconds(10), 1000);
  const auto other = Add("o", milliseconds(10), 1);
  Wait(flood);
  Run(100);
  Wait(other);
  EXPECT_EQ(Run(3), "off");
}

TEST_F(FairSharesTest, WhoDidNotWaitHasNotSavedUpAnyTime) {
  const auto flood = Add("f", milliseconds(10), 1000);
  const auto other = Add("o", milliseconds(10), 1);
  Wait(other);
  Run(1);
  Wait(flood);
  Run(100);
  other->backlog = 1000;
  Wait(other);
  EXPECT_EQ(Run(8), "ofofofof");
}

TEST_F(FairSharesTest, ASlotIsTakenAtOnceOnlyWhereNobodyWaits) {
  const auto a = Add("a", milliseconds(10), 1);
  const auto slot = shares_.Take(*a->share, now_);
  ASSERT_TRUE(slot.has_value());
  EXPECT_FALSE(shares_.Take(*a->share, now_).has_value());
  Wait(a);
  shares_.Free(*slot, now_ + milliseconds(10));
  EXPECT_FALSE(shares_.Take(*a->share, now_).has_value());
  EXPECT_EQ(Run(1), "a");
  EXPECT_TRUE(shares_.Take(*a->share, now_).has_value());
}

TEST_F(FairSharesTest, ASlotThatNobodyUsesGoesToTheNext) {
  const auto empty = Add("e", milliseconds(10), 0);
  const auto other = Add("o", milliseconds(10), 1);
  Wait(empty);
  Wait(Add("gone", milliseconds(10), 1));
  Wait(other);
  EXPECT_EQ(Run(2), "o");
  EXPECT_TRUE(shares_.Take(*empty->share, now_).has_value());
}

TEST_F(FairSharesTest, AModelThatTakesNoSlotsWaitsForNobodyAndKeepsNobodyWaiting) {
  ModelShare& archive = shares_.ShareOf("archive", 1);
  ModelShare& ensemble = shares_.ShareOf("ensemble", 1, /*takes_slots=*/false);
  const auto taken = shares_.Take(archive, now_);
  ASSERT_TRUE(taken.has_value());
  const auto first = shares_.Take(ensemble, now_);
  const auto second = shares_.Take(ensemble, now_);
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_FALSE(shares_.Take(archive, now_).has_value());
  shares_.Free(*first, now_);
  shares_.GiveBack(*second);
  EXPECT_FALSE(shares_.Take(archive, now_).has_value()) << "their ends free nothing";
  shares_.Free(*taken, now_);
  EXPECT_TRUE(shares_.Take(archive, now_).has_value());
}

}  // namespace
}  // namespace hearth::server
