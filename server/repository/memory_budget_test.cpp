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

MemoryUse Host(uint64_t bytes) { return {.host = bytes}; }

std::string TextOf(const absl::Status& status) { return std::string(status.message()); }

TEST(MemoryBudget, WhatDoesNotFitIsRefusedWithNeedBudgetAndHolders) {
  MemoryBudget budget({.host = 10'000});
  const auto small = *budget.Take("small", 1, Host(2'000));
  const auto large = *budget.Take("large", 3, Host(5'000));
  EXPECT_EQ(budget.held().host, 7'000);
  EXPECT_EQ(budget.Missing(Host(3'000)).host, 0);
  EXPECT_EQ(budget.Missing(Host(3'001)).host, 1);
  EXPECT_TRUE(budget.Take("fits", 1, Host(3'000)).ok());
  const absl::Status refused = budget.Take("m", 2, Host(3'001)).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(TextOf(refused),
            "it needs 3001 bytes of memory; the models' budget is 10000 bytes, of which 7000 are held: "
            "version 3 of 'large' 5000, version 1 of 'small' 2000");
}

TEST(MemoryBudget, AShareIsHeldUntilItsLastReferenceGoes) {
  MemoryBudget budget({.host = 1'000});
  auto share = *budget.Take("m", 1, Host(1'000));
  const auto drains = share;
  share = nullptr;
  EXPECT_FALSE(budget.Take("n", 1, Host(1)).ok());
  EXPECT_EQ(drains->use().host, 1'000);
}

TEST(MemoryBudget, AShareOutlivesTheBudget) {
  MemoryBudget::SharePtr share;
  {
    MemoryBudget budget({});
    share = *budget.Take("m", 1, Host(7));
  }
  EXPECT_EQ(share->use().host, 7);
}

TEST(MemoryBudget, AVersionThatIsLoadedHoldsWhatItWasMeasuredToHold) {
  MemoryBudget budget({.host = 2'000});
  Gate gate;
  const auto model = std::make_shared<FakeModel>("m", &gate);
  const auto share = *budget.Take("m", 1, Host(10));
  EXPECT_TRUE(budget.Settle(*share, model).ok());
  EXPECT_EQ(share->use().host, 1'000 + 200);
  model->counts = {.bytes = 300, .copied_bytes = 40};
  EXPECT_EQ(budget.held().host, 1'540);

  const auto other = std::make_shared<FakeModel>("n", &gate);
  const auto second = *budget.Take("n", 1, Host(10));
  const absl::Status too_much = budget.Settle(*second, other);
  EXPECT_EQ(too_much.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(TextOf(too_much), HasSubstr("it needs 1200 bytes"));
  EXPECT_THAT(TextOf(too_much), HasSubstr("1540 are held: version 1 of 'm' 1540"));
}

TEST(MemoryBudget, WithoutALimitAllIsCountedAndNothingRefused) {
  MemoryBudget budget({});
  const auto share = *budget.Take("m", 1, Host(uint64_t{1} << 60));
  EXPECT_EQ(budget.held().host, uint64_t{1} << 60);
  EXPECT_EQ(budget.Missing(Host(uint64_t{1} << 60)).host, 0);
}

TEST(MemoryBudget, NotAllOfManyHoldersAreNamed) {
  MemoryBudget budget({.host = 1'000});
  std::vector<MemoryBudget::SharePtr> shares;
  for (int i = 0; i < 10; ++i) shares.push_back(*budget.Take("m" + std::to_string(i), 1, Host(100 - i)));
  EXPECT_THAT(TextOf(budget.Take("n", 1, Host(1'000)).status()),
              AllOf(HasSubstr("'m0' 100, "), HasSubstr("'m7' 93 and 2 more"), Not(HasSubstr("'m8'"))));
}

TEST(MemoryBudget, EachGpuHasABudgetOfItsOwn) {
  MemoryBudget budget({.host = 10'000, .each_gpu = 3'000});
  Gate gate;
  const auto model = std::make_shared<FakeModel>("m", &gate);
  model->gpus = {0, 1};
  const auto spread = *budget.Take("spread", 1, {.gpus = {{0, 10}, {1, 10}}});
  ASSERT_TRUE(budget.Settle(*spread, model).ok());
  model->counts = {.bytes = 300, .copied_bytes = 500};
  EXPECT_EQ(budget.held(), (MemoryUse{.host = 500, .gpus = {{0, 1'500}, {1, 1'500}}}));
  const auto alone = *budget.Take("alone", 1, {.gpus = {{1, 1'000}}});

  EXPECT_TRUE(budget.Take("fits", 1, {.gpus = {{0, 1'500}}}).ok());
  EXPECT_EQ(budget.Missing({.gpus = {{0, 1'600}, {1, 600}}}), (MemoryUse{.gpus = {{0, 100}, {1, 100}}}));
  EXPECT_EQ(TextOf(budget.Take("n", 2, {.gpus = {{0, 600}, {1, 600}}}).status()),
            "it needs 600 bytes of GPU 1's memory; the models' budget is 3000 bytes of each GPU, of which 2500 are "
            "held: version 1 of 'spread' 1500, version 1 of 'alone' 1000");
  EXPECT_THAT(TextOf(budget.Take("h", 1, Host(9'501)).status()),
              AllOf(HasSubstr("it needs 9501 bytes of memory;"), HasSubstr("500 are held: version 1 of 'spread' 500")));
}

}  // namespace
}  // namespace hearth::server
