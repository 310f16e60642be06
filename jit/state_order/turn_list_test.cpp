#include "jit/state_order/turn_list.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "jit/state_order/test_support.h"

namespace hearth {
namespace {

using Steps = std::vector<StatePlan::Step>;

const Steps kReader = Stages({Access({1}, {})});
const Steps kFirstWriter = Stages({Access({}, {1})});
const Steps kOtherWriter = Stages({Access({}, {2})});

class TurnListTest : public testing::Test {
 protected:
  std::shared_ptr<TurnList> list_ = std::make_shared<TurnList>();
};

TEST_F(TurnListTest, ReadersShareAndAWriterWaitsForThemAll) {
  Passage a(list_->Arrive(kReader));
  Passage b(list_->Arrive(kReader));
  Passage writer(list_->Arrive(kFirstWriter));
  EXPECT_TRUE(a.Take(0));
  EXPECT_TRUE(b.Take(0));
  EXPECT_FALSE(writer.Take(0));
  b.End();
  EXPECT_FALSE(writer.IsAdmitted());
  a.End();
  EXPECT_TRUE(writer.IsAdmitted());
}

TEST_F(TurnListTest, AReaderThatComesAfterAWaitingWriterWaitsBehindIt) {
  Passage first(list_->Arrive(kReader));
  Passage writer(list_->Arrive(kFirstWriter));
  Passage second(list_->Arrive(kReader));
  EXPECT_TRUE(first.Take(0));
  EXPECT_FALSE(second.Take(0));
  EXPECT_FALSE(writer.Take(0));
  first.End();
  EXPECT_TRUE(writer.IsAdmitted());
  EXPECT_FALSE(second.IsAdmitted());
  writer.End();
  EXPECT_TRUE(second.IsAdmitted());
}

TEST_F(TurnListTest, RunsThatTouchDifferentPartsDoNotMeet) {
  Passage a(list_->Arrive(kFirstWriter));
  Passage b(list_->Arrive(kOtherWriter));
  EXPECT_TRUE(a.Take(0));
  EXPECT_TRUE(b.Take(0));
}

TEST_F(TurnListTest, APartIsFreeAsSoonAsItIsGivenBackThoughItsRunGoesOn) {
  Passage a(list_->Arrive(kFirstWriter));
  Passage b(list_->Arrive(kFirstWriter));
  EXPECT_TRUE(a.Take(0));
  EXPECT_FALSE(b.Take(0));
  EXPECT_TRUE(a.Take(1));
  EXPECT_TRUE(b.IsAdmitted());
}

TEST_F(TurnListTest, WhoArrivedEarlierGoesFirstThoughItAsksLater) {
  Passage a(list_->Arrive(kFirstWriter));
  Passage b(list_->Arrive(kFirstWriter));
  EXPECT_FALSE(b.Take(0));
  EXPECT_TRUE(a.Take(0));
  a.End();
  EXPECT_TRUE(b.IsAdmitted());
}

TEST_F(TurnListTest, RunsFollowEachOtherThroughTheStagesWithoutOvertaking) {
  const Steps two_stages = Stages({Access({}, {1}), Access({}, {2})});
  Passage a(list_->Arrive(two_stages));
  Passage b(list_->Arrive(two_stages));
  Passage c(list_->Arrive(two_stages));
  EXPECT_TRUE(a.Take(0));
  EXPECT_FALSE(b.Take(0));
  EXPECT_TRUE(a.Take(1));  // a in stage 2, b in stage 1
  EXPECT_TRUE(b.IsAdmitted());
  EXPECT_FALSE(b.Take(1));
  EXPECT_TRUE(c.Take(0));  // b is past stage 1 and waits for stage 2
  EXPECT_FALSE(c.Take(1));
  a.End();
  EXPECT_TRUE(b.IsAdmitted());
  EXPECT_FALSE(c.IsAdmitted());
  b.End();
  EXPECT_TRUE(c.IsAdmitted());
}

TEST_F(TurnListTest, ARunThatEndsBeforeItAskedHoldsNobodyUp) {
  auto a = std::make_unique<Passage>(list_->Arrive(kFirstWriter));
  Passage b(list_->Arrive(kFirstWriter));
  EXPECT_FALSE(b.Take(0));
  a = nullptr;
  EXPECT_TRUE(b.IsAdmitted());
}

TEST_F(TurnListTest, ARunThatEndsWhileItWaitsIsForgotten) {
  Passage a(list_->Arrive(kFirstWriter));
  auto b = std::make_unique<Passage>(list_->Arrive(kFirstWriter));
  Passage c(list_->Arrive(kFirstWriter));
  EXPECT_TRUE(a.Take(0));
  EXPECT_FALSE(b->Take(0));
  EXPECT_FALSE(c.Take(0));
  b = nullptr;
  a.End();
  EXPECT_TRUE(c.IsAdmitted());
}

TEST_F(TurnListTest, ATurnLastsAsLongAsAForkHoldsIt) {
  Passage a(list_->Arrive(kFirstWriter));
  EXPECT_TRUE(a.Take(0));
  std::shared_ptr<StateTurn> fork = a.turn();
  Passage b(list_->Arrive(kFirstWriter));
  EXPECT_FALSE(b.Take(0));
  a.End();
  EXPECT_FALSE(b.IsAdmitted());
  fork = nullptr;
  EXPECT_TRUE(b.IsAdmitted());
}

TEST_F(TurnListTest, AWriterSeesAllThatThoseBeforeItWroteWhateverTheThreads) {
  int64_t unguarded = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) {
        const std::shared_ptr<StateTurn> turn = list_->Arrive(kFirstWriter);
        if (auto ready = turn->Take(0)) ready->wait();
        ++unguarded;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(unguarded, 80000);
}

TEST_F(TurnListTest, TwoListsHaveRunsThatAreInBothInOneOrderWhateverTheThreads) {
  const auto other = std::make_shared<TurnList>();
  // Whoever is first in one list and not in the other would wait for ever.
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20000; ++i) {
        const auto turns = t % 2 == 0 ? TurnList::ArriveAtBoth(*list_, kFirstWriter, *other, kFirstWriter)
                                      : TurnList::ArriveAtBoth(*other, kFirstWriter, *list_, kFirstWriter);
        if (auto ready = turns.first->Take(0)) ready->wait();
        if (auto ready = turns.second->Take(0)) ready->wait();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace hearth
