#include "jit/state_order/state_gate.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

#include "jit/state_order/test_support.h"

namespace hearth {
namespace {

StatePlan Plan(const std::vector<StateAccess>& model, const std::vector<StateAccess>& generators) {
  StatePlan plan;
  if (!model.empty()) plan.model = Stages(model);
  if (!generators.empty()) plan.generators = Stages(generators);
  return plan;
}

const StateAccess kWrites = Access({}, {2});
const StateAccess kDraws = Access({kGenerators}, {});
const StateAccess kSeeds = Access({}, {kGenerators});

const StatePlan kWriter = Plan({kWrites}, {});
const StatePlan kDrawer = Plan({}, {kDraws});
const StatePlan kSeeder = Plan({}, {kSeeds});
const StatePlan kSeedingWriter = Plan({kWrites}, {kSeeds});

class StateGateTest : public testing::Test {
 protected:
  const std::shared_ptr<TurnList> generators_ = std::make_shared<TurnList>();
  StateGate a_{generators_};
  StateGate b_{generators_};
};

TEST_F(StateGateTest, ARunThatSharesNothingNeedsNoPlace) { EXPECT_EQ(a_.Arrive(StatePlan()), nullptr); }

TEST_F(StateGateTest, RunsOfOneModelFollowEachOtherAndThoseOfAnotherGoOn) {
  Passage first(a_.Arrive(kWriter));
  Passage second(a_.Arrive(kWriter));
  Passage other(b_.Arrive(kWriter));
  EXPECT_TRUE(first.Take(0));
  EXPECT_FALSE(second.Take(0));
  EXPECT_TRUE(other.Take(0));
}

TEST_F(StateGateTest, WhoSeedsHasTheGeneratorsToItselfAcrossModels) {
  Passage first(a_.Arrive(kDrawer));
  Passage second(b_.Arrive(kDrawer));
  Passage seeder(b_.Arrive(kSeeder));
  Passage last(a_.Arrive(kDrawer));
  EXPECT_TRUE(first.Take(0));
  EXPECT_TRUE(second.Take(0));
  EXPECT_FALSE(seeder.Take(0));
  EXPECT_FALSE(last.Take(0));
  first.End();
  second.End();
  EXPECT_TRUE(seeder.IsAdmitted());
  EXPECT_FALSE(last.IsAdmitted());
  seeder.End();
  EXPECT_TRUE(last.IsAdmitted());
}

TEST_F(StateGateTest, ARunThatNeedsItsModelAndTheGeneratorsWaitsForBothInWhicheverOrderTheyComeFree) {
  for (const bool model_first : {true, false}) {
    Passage writer(a_.Arrive(kWriter));
    Passage drawer(b_.Arrive(kDrawer));
    Passage both(a_.Arrive(kSeedingWriter));
    EXPECT_TRUE(writer.Take(0));
    EXPECT_TRUE(drawer.Take(0));
    EXPECT_FALSE(both.Take(0));
    (model_first ? writer : drawer).End();
    EXPECT_FALSE(both.IsAdmitted());
    (model_first ? drawer : writer).End();
    EXPECT_TRUE(both.IsAdmitted());
  }
}

TEST_F(StateGateTest, ARunThatWaitsForOneOfTheTwoGoesOnWhenThatComesFree) {
  std::optional<Passage> writer(a_.Arrive(kWriter));
  Passage both(a_.Arrive(kSeedingWriter));
  Passage drawer(b_.Arrive(kDrawer));
  EXPECT_FALSE(both.Take(0));
  writer.reset();
  EXPECT_TRUE(both.IsAdmitted());
  EXPECT_FALSE(drawer.Take(0));
  EXPECT_TRUE(both.Take(1));
  EXPECT_TRUE(drawer.IsAdmitted());
}

TEST_F(StateGateTest, TheGeneratorsComeFreeBeforeTheModelWhereTheRunIsThroughWithThem) {
  StatePlan plan = Plan({kWrites, kWrites}, {kSeeds, StateAccess()});
  Passage both(a_.Arrive(plan));
  Passage writer(a_.Arrive(kWriter));
  Passage drawer(b_.Arrive(kDrawer));
  EXPECT_TRUE(both.Take(0));
  EXPECT_FALSE(writer.Take(0));
  EXPECT_FALSE(drawer.Take(0));
  EXPECT_TRUE(both.Take(1));
  EXPECT_TRUE(drawer.IsAdmitted());
  EXPECT_FALSE(writer.IsAdmitted());
}

TEST_F(StateGateTest, ARunThatEndsWhileItWaitsForBothIsForgotten) {
  Passage writer(a_.Arrive(kWriter));
  Passage drawer(b_.Arrive(kDrawer));
  std::optional<Passage> both(a_.Arrive(kSeedingWriter));
  Passage next(a_.Arrive(kSeedingWriter));
  EXPECT_FALSE(both->Take(0));
  EXPECT_FALSE(next.Take(0));
  both.reset();
  writer.End();
  EXPECT_FALSE(next.IsAdmitted());
  drawer.End();
  EXPECT_TRUE(next.IsAdmitted());
}

// Each model's runs and the generators' are in chains that cross; a circle among them would not end.
TEST_F(StateGateTest, NoRunWaitsInACircleAcrossModelsWhateverTheThreads) {
  const std::vector<StatePlan> plans = {kWriter, kSeedingWriter, kDrawer,
                                        Plan({kWrites, StateAccess()}, {StateAccess(), kSeeds}),
                                        Plan({StateAccess(), kWrites}, {kSeeds, StateAccess()})};
  int64_t seeds = 0;  // nothing but the order over the generators guards it
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < 20000; ++i) {
        const StatePlan& plan = plans[(i + t) % plans.size()];
        const std::shared_ptr<StateTurn> turn = (t % 2 == 0 ? a_ : b_).Arrive(plan);
        for (size_t step = 0; step < std::max(plan.model.size(), plan.generators.size()); ++step) {
          if (auto ready = turn->Take(step)) ready->wait();
          if (step < plan.generators.size() && plan.generators[step].taken.writes.Has(kGenerators)) ++seeds;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(seeds, 4 * 20000 / 5 * 3);
}

}  // namespace
}  // namespace hearth
