#include "jit/support/load_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "jit/support/memory_account.h"

namespace hearth {
namespace {

using std::chrono::nanoseconds;

void CheckOften() {
  for (int i = 0; i < 1000; ++i) LoadBudget::Check();
}

TEST(LoadBudgetTest, TimeThatHasPassedEndsTheLoadAndTheErrorNamesTheLimit) {
  const LoadBudget budget(std::chrono::milliseconds(2));
  std::this_thread::sleep_until(budget.deadline());
  try {
    CheckOften();
    FAIL() << "nothing was thrown";
  } catch (const LoadTimeError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("longer than it may: more than 0.002 s"));
  }
}

TEST(LoadBudgetTest, ALimitOfZeroIsNone) {
  const LoadBudget budget(nanoseconds(0));
  EXPECT_NO_THROW(CheckOften());
  EXPECT_EQ(budget.deadline(), LoadBudget::Clock::time_point::max());
}

TEST(LoadBudgetTest, AThreadThatLoadsNothingHasNoLimit) {
  const LoadBudget budget(nanoseconds(1));
  std::thread([] { EXPECT_NO_THROW(CheckOften()); }).join();
  EXPECT_THROW(CheckOften(), LoadTimeError);
}

TEST(LoadBudgetTest, APauseIsNotCounted) {
  const LoadBudget budget(std::chrono::hours(1));
  const LoadBudget::Clock::time_point before = budget.deadline();
  const LoadBudget::Clock::time_point begin = LoadBudget::Clock::now();
  {
    const LoadBudget::Pause pause;
    while (LoadBudget::Clock::now() - begin < std::chrono::milliseconds(1)) std::this_thread::yield();
  }
  EXPECT_GT(budget.deadline(), before);
}

TEST(LoadBudgetTest, ALoadThatIsToEndEndsInAPauseToo) {
  std::stop_source stop;
  const LoadBudget budget(nanoseconds(0), stop.get_token());
  EXPECT_NO_THROW(CheckOften());
  stop.request_stop();
  EXPECT_THROW(CheckOften(), LoadStoppedError);
  const LoadBudget::Pause pause;
  EXPECT_THROW(LoadBudget::CheckStopped(), LoadStoppedError);
}

TEST(LoadBudgetTest, ManySmallAllocationsPassTheMemoryLimitOfTheThread) {
  MemoryAccount account(1 << 20);
  const MemoryAccount::Scope memory(&account);
  const LoadBudget budget(nanoseconds(0));
  std::vector<std::string> held;
  const auto fill = [&] {
    for (int i = 0; i < 100'000; ++i) {
      held.emplace_back(100, 'x');
      LoadBudget::Check();
    }
  };
  EXPECT_THROW(fill(), MemoryLimitError);
}

TEST(LoadBudgetTest, TheInnermostActivityThatAnExceptionPassedIsNamed) {
  const LoadBudget budget(nanoseconds(0));
  const std::string outer = "f";
  const std::string inner = "g";
  try {
    const LoadBudget::Activity first("compiling ", outer);
    { const LoadBudget::Activity done("reading ", outer); }
    const LoadBudget::Activity second("compiling ", inner);
    throw std::runtime_error("");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(budget.Interrupted(), ", while compiling g");
  { const LoadBudget::Activity next("compiling ", outer); }
  EXPECT_EQ(budget.Interrupted(), "");
}

}  // namespace
}  // namespace hearth
