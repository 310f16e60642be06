#include "jit/executor/state_gate.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace hearth {
namespace {

using Parts = std::vector<size_t>;

StateAccess Access(const Parts& reads, const Parts& writes) {
  StateAccess access;
  for (size_t part : reads) access.reads.Add(part);
  for (size_t part : writes) access.writes.Add(part);
  return access;
}

// Steps that each take something up and give it back at the next one.
StatePlan Stages(const std::vector<StateAccess>& stages) {
  StatePlan plan;
  plan.steps.resize(stages.size() + 1);
  for (size_t i = 0; i < stages.size(); ++i) {
    plan.steps[i].taken = stages[i];
    for (size_t k = 0; k <= i; ++k) plan.steps[k].remaining.Add(stages[i]);
  }
  return plan;
}

const StatePlan kReader = Stages({Access({1}, {})});
const StatePlan kWriter = Stages({Access({}, {1})});
const StatePlan kOtherWriter = Stages({Access({}, {2})});

class Passage {
 public:
  Passage(StateGate& gate, const StatePlan& plan) : turn_(gate.Arrive(plan)) {}
  // Whether it may go on at once.
  bool Take(size_t step) {
    ready_ = turn_->Take(step);
    return IsAdmitted();
  }
  bool IsAdmitted() const { return ready_ == nullptr || ready_->completed(); }
  void End() { turn_ = nullptr; }
  const std::shared_ptr<StateTurn>& turn() const { return turn_; }

 private:
  std::shared_ptr<StateTurn> turn_;
  c10::intrusive_ptr<c10::ivalue::Future> ready_;
};

class StateGateTest : public testing::Test {
 protected:
  std::shared_ptr<StateGate> gate_ = std::make_shared<StateGate>();
};

TEST_F(StateGateTest, ReadersShareAndAWriterWaitsForThemAll) {
  Passage a(*gate_, kReader);
  Passage b(*gate_, kReader);
  Passage writer(*gate_, kWriter);
  EXPECT_TRUE(a.Take(0));
  EXPECT_TRUE(b.Take(0));
  EXPECT_FALSE(writer.Take(0));
  b.End();
  EXPECT_FALSE(writer.IsAdmitted());
  a.End();
  EXPECT_TRUE(writer.IsAdmitted());
}

TEST_F(StateGateTest, AReaderThatComesAfterAWaitingWriterWaitsBehindIt) {
  Passage first(*gate_, kReader);
  Passage writer(*gate_, kWriter);
  Passage second(*gate_, kReader);
  EXPECT_TRUE(first.Take(0));
  EXPECT_FALSE(second.Take(0));
  EXPECT_FALSE(writer.Take(0));
  first.End();
  EXPECT_TRUE(writer.IsAdmitted());
  EXPECT_FALSE(second.IsAdmitted());
  writer.End();
  EXPECT_TRUE(second.IsAdmitted());
}

TEST_F(StateGateTest, RunsThatTouchDifferentPartsDoNotMeet) {
  Passage a(*gate_, kWriter);
  Passage b(*gate_, kOtherWriter);
  EXPECT_TRUE(a.Take(0));
  EXPECT_TRUE(b.Take(0));
}

TEST_F(StateGateTest, ModelsShareNothingButTheGenerators) {
  StatePlan draws = Stages({Access({kGenerators}, {1})});
  StatePlan seeds = Stages({Access({}, {kGenerators, 1})});
  draws.model = &draws;
  seeds.model = &seeds;
  StatePlan other = kWriter;
  other.model = &other;
  Passage first(*gate_, draws);
  Passage second(*gate_, other);
  Passage third(*gate_, seeds);
  Passage fourth(*gate_, draws);
  EXPECT_TRUE(first.Take(0));
  EXPECT_TRUE(second.Take(0));
  EXPECT_FALSE(third.Take(0));
  first.End();
  EXPECT_TRUE(third.IsAdmitted());
  EXPECT_FALSE(fourth.Take(0));
  third.End();
  EXPECT_TRUE(fourth.IsAdmitted());
}

TEST_F(StateGateTest, APartIsFreeAsSoonAsItIsGivenBackThoughItsRunGoesOn) {
  Passage a(*gate_, kWriter);
  Passage b(*gate_, kWriter);
  EXPECT_TRUE(a.Take(0));
  EXPECT_FALSE(b.Take(0));
  EXPECT_TRUE(a.Take(1));
  EXPECT_TRUE(b.IsAdmitted());
}

TEST_F(StateGateTest, WhoArrivedEarlierGoesFirstThoughItAsksLater) {
  Passage a(*gate_, kWriter);
  Passage b(*gate_, kWriter);
  EXPECT_FALSE(b.Take(0));
  EXPECT_TRUE(a.Take(0));
  a.End();
  EXPECT_TRUE(b.IsAdmitted());
}

TEST_F(StateGateTest, RunsFollowEachOtherThroughTheStagesWithoutOvertaking) {
  const StatePlan two_stages = Stages({Access({}, {1}), Access({}, {2})});
  Passage a(*gate_, two_stages);
  Passage b(*gate_, two_stages);
  Passage c(*gate_, two_stages);
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

TEST_F(StateGateTest, ARunThatEndsBeforeItAskedHoldsNobodyUp) {
  auto a = std::make_unique<Passage>(*gate_, kWriter);
  Passage b(*gate_, kWriter);
  EXPECT_FALSE(b.Take(0));
  a = nullptr;
  EXPECT_TRUE(b.IsAdmitted());
}

TEST_F(StateGateTest, ARunThatEndsWhileItWaitsIsForgotten) {
  Passage a(*gate_, kWriter);
  auto b = std::make_unique<Passage>(*gate_, kWriter);
  Passage c(*gate_, kWriter);
  EXPECT_TRUE(a.Take(0));
  EXPECT_FALSE(b->Take(0));
  EXPECT_FALSE(c.Take(0));
  b = nullptr;
  a.End();
  EXPECT_TRUE(c.IsAdmitted());
}

TEST_F(StateGateTest, ATurnLastsAsLongAsAForkHoldsIt) {
  Passage a(*gate_, kWriter);
  EXPECT_TRUE(a.Take(0));
  std::shared_ptr<StateTurn> fork = a.turn();
  Passage b(*gate_, kWriter);
  EXPECT_FALSE(b.Take(0));
  a.End();
  EXPECT_FALSE(b.IsAdmitted());
  fork = nullptr;
  EXPECT_TRUE(b.IsAdmitted());
}

TEST_F(StateGateTest, AWriterSeesAllThatThoseBeforeItWroteWhateverTheThreads) {
  int64_t unguarded = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        const std::shared_ptr<StateTurn> turn = gate_->Arrive(kWriter);
        if (auto ready = turn->Take(0)) ready->wait();
        ++unguarded;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(unguarded, 2000);
}

}  // namespace
}  // namespace hearth
