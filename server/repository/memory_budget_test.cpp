#include "server/repository/memory_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/repository/fake_runtime.h"

namespace hearth::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string TextOf(const absl::Status& status) { return std::string(status.message()); }

TEST(MemoryBudget, WhatDoesNotFitIsRefusedWithNeedBudgetAndHolders) {
  MemoryBudget budget(10'000);
  const auto small = *budget.Take("small", 1, 2'000);
  const auto large = *budget.Take("large", 3, 5'000);
  EXPECT_EQ(budget.held(), 7'000);
  EXPECT_EQ(budget.Missing(3'000), 0);
  EXPECT_EQ(budget.Missing(3'001), 1);
  EXPECT_TRUE(budget.Take("fits", 1, 3'000).ok());
  const absl::Status refused = budget.Take("m", 2, 3'001).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(TextOf(refused),
            "it needs 3001 bytes of memory; the models' budget is 10000 bytes, of which 7000 are held: "
            "version 3 of 'large' 5000, version 1 of 'small' 2000");
}

TEST(MemoryBudget, AShareIsHeldUntilItsLastReferenceGoes) {
  MemoryBudget budget(1'000);
  auto share = *budget.Take("m", 1, 1'000);
  const auto drains = share;
  share = nullptr;
  EXPECT_FALSE(budget.Take("n", 1, 1).ok());
  EXPECT_EQ(drains->bytes(), 1'000);
}

TEST(MemoryBudget, AShareOutlivesTheBudget) {
  MemoryBudget::SharePtr share;
  {
    MemoryBudget budget(0);
    share = *budget.Take("m", 1, 7);
  }
  EXPECT_EQ(share->bytes(), 7);
}

TEST(MemoryBudget, AVersionThatIsLoadedHoldsWhatItWasMeasuredToHold) {
  MemoryBudget budget(2'000);
  Gate gate;
  const auto model = std::make_shared<FakeModel>("m", &gate);
  const auto share = *budget.Take("m", 1, 10);
  EXPECT_TRUE(budget.Settle(*share, model).ok());
  EXPECT_EQ(share->bytes(), 1'000 + 200);
  model->counts = {.bytes = 300, .copied_bytes = 40};
  EXPECT_EQ(budget.held(), 1'540);

  const auto other = std::make_shared<FakeModel>("n", &gate);
  const auto second = *budget.Take("n", 1, 10);
  const absl::Status too_much = budget.Settle(*second, other);
  EXPECT_EQ(too_much.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(TextOf(too_much), HasSubstr("it needs 1200 bytes"));
  EXPECT_THAT(TextOf(too_much), HasSubstr("1540 are held: version 1 of 'm' 1540"));
}

TEST(MemoryBudget, WithoutALimitAllIsCountedAndNothingRefused) {
  MemoryBudget budget(0);
  const auto share = *budget.Take("m", 1, uint64_t{1} << 60);
  EXPECT_EQ(budget.held(), uint64_t{1} << 60);
  EXPECT_EQ(budget.Missing(uint64_t{1} << 60), 0);
}

TEST(MemoryBudget, NotAllOfManyHoldersAreNamed) {
  MemoryBudget budget(1'000);
  std::vector<MemoryBudget::SharePtr> shares;
  for (int i = 0; i < 10; ++i) shares.push_back(*budget.Take("m" + std::to_string(i), 1, 100 - i));
  EXPECT_THAT(TextOf(budget.Take("n", 1, 1'000).status()),
              AllOf(HasSubstr("'m0' 100, "), HasSubstr("'m7' 93 and 2 more"), Not(HasSubstr("'m8'"))));
}

}  // namespace
}  // namespace hearth::server
