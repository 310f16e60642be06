#include "jit/executor/processor_budget.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

using Seconds = ProcessorBudget::Seconds;

class ProcessorBudgetTest : public testing::Test {
 protected:
  ProcessorBudget::Clock::time_point At(double seconds) const {
    return start_ + std::chrono::duration_cast<ProcessorBudget::Clock::duration>(Seconds(seconds));
  }
  const ProcessorBudget::Clock::time_point start_{};
};

TEST_F(ProcessorBudgetTest, ABurstIsFreeAndWhatIsOverRestsByTheShare) {
  ProcessorBudget budget(0.25, At(0));
  budget.Charge(ProcessorBudget::kBurst, At(0));
  EXPECT_EQ(budget.Rest(At(0)), Seconds(0));
  budget.Charge(Seconds(0.5), At(0));
  EXPECT_NEAR(budget.Rest(At(0)).count(), 2, 1e-9);
  EXPECT_NEAR(budget.Rest(At(1.5)).count(), 0.5, 1e-9);
  EXPECT_NEAR(budget.Rest(At(2)).count(), 0, 1e-9);
}

TEST_F(ProcessorBudgetTest, OverALongTimeWorkTakesItsShareAndNoMore) {
  ProcessorBudget budget(0.1, At(0));
  double now = 0;
  double worked = 0;
  while (now < 100) {
    now += budget.Rest(At(now)).count();
    now += 0.03;
    worked += 0.03;
    budget.Charge(Seconds(0.03), At(now));
  }
  EXPECT_NEAR(worked / now, 0.1, 0.001);
}

TEST_F(ProcessorBudgetTest, RestIsSavedUpToABurstOnly) {
  ProcessorBudget budget(0.5, At(0));
  budget.Charge(Seconds(1), At(1000));
  EXPECT_NEAR(budget.Rest(At(1000)).count(), (1 - ProcessorBudget::kBurst.count()) / 0.5, 1e-6);
}

TEST_F(ProcessorBudgetTest, WithoutALimitThereIsNoRest) {
  ProcessorBudget budget(0, At(0));
  budget.Charge(Seconds(1000), At(0));
  EXPECT_EQ(budget.Rest(At(0)), Seconds(0));
}

}  // namespace
}  // namespace hearth
