#include "jit/support/memory_account.h"

#include <ATen/ops/empty.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "jit/support/cpu_allocator.h"

namespace hearth {
namespace {

using ::testing::HasSubstr;

TEST(MemoryAccountTest, AnAccountHoldsWhatItsThreadAllocatedAndHasNotFreed) {
  MemoryAccount account(1 << 20);
  MemoryAccount::Scope scope(&account);
  {
    const std::vector<char> bytes(1000);
    EXPECT_GE(account.held(), 1000);
    EXPECT_LT(account.held(), 1200);
  }
  EXPECT_EQ(account.held(), 0);
}

TEST(MemoryAccountTest, MemoryThatAnotherThreadOfTheAccountFreesIsNoLongerHeld) {
  MemoryAccount account(1 << 20);
  std::vector<char>* bytes = nullptr;
  std::thread([&] {
    MemoryAccount::Scope scope(&account);
    bytes = new std::vector<char>(100000);
  }).join();
  EXPECT_GE(account.held(), 100000);
  std::thread([&] {
    MemoryAccount::Scope scope(&account);
    delete bytes;
  }).join();
  EXPECT_EQ(account.held(), 0);
}

TEST(MemoryAccountTest, WhatIsAllocatedOutsideOfAScopeIsNotCounted) {
  MemoryAccount account(1 << 20);
  {
    MemoryAccount::Scope scope(&account);
    MemoryAccount::Scope none(nullptr);
    const std::vector<char> bytes(100000);
    EXPECT_EQ(account.held(), 0);
  }
  const std::vector<char> bytes(100000);
  EXPECT_EQ(account.held(), 0);
}

TEST(MemoryAccountTest, ALargeAllocationBeyondTheLimitFailsAtOnce) {
  MemoryAccount account(2 << 20);
  MemoryAccount::Scope scope(&account);
  try {
    const std::vector<char> bytes(3 << 20);
    FAIL();
  } catch (const std::bad_alloc& error) {
    EXPECT_THAT(error.what(), HasSubstr("asked for 3145728 bytes while"));
    EXPECT_THAT(error.what(), HasSubstr("memory limit of 2097152 bytes"));
  }
  EXPECT_THROW(account.Check(), MemoryLimitError) << "an account that was passed stays so";
}

TEST(MemoryAccountTest, ManySmallAllocationsAreSeenWhenAsked) {
  MemoryAccount account(1 << 20);
  MemoryAccount::Scope scope(&account);
  std::vector<std::string> strings;
  strings.reserve(4096);
  EXPECT_NO_THROW(account.Check());
  for (int i = 0; i < 4096; ++i) strings.emplace_back(1000, 'x');
  EXPECT_THROW(account.Check(), MemoryLimitError);
}

TEST(MemoryAccountTest, TensorsAreCountedAndRefusedByTheirBytes) {
  InstallCountingAllocator();
  MemoryAccount account(1 << 20);
  MemoryAccount::Scope scope(&account);
  {
    const at::Tensor tensor = at::empty({1000, 100}, at::kFloat);
    EXPECT_GE(account.held(), 400000);
    EXPECT_LT(account.held(), 410000);
  }
  // What LibTorch makes once for the process may stay.
  EXPECT_LT(account.held(), 10000);
  EXPECT_THROW(at::empty({1 << 20}, at::kFloat), MemoryLimitError);
}

TEST(MemoryAccountTest, MemoryThatIsKeptCountsForWhoeverUsesIt) {
  InstallCountingAllocator();
  KeepFreedMemory(size_t{64} << 20);
  constexpr int64_t kBytes = 40 << 20;
  const void* memory = nullptr;
  for (int run = 0; run < 3; ++run) {
    MemoryAccount account(64 << 20);
    MemoryAccount::Scope scope(&account);
    {
      const at::Tensor tensor = at::empty({kBytes / 4}, at::kFloat);
      if (memory == nullptr) memory = tensor.data_ptr();
#if !defined(__SANITIZE_ADDRESS__)
      EXPECT_EQ(tensor.data_ptr(), memory);
#endif
      EXPECT_GE(account.held(), kBytes);
      EXPECT_LT(account.held(), kBytes + kBytes / 16);
      EXPECT_THROW(at::empty({kBytes / 4}, at::kFloat), MemoryLimitError);
    }
    EXPECT_LT(account.held(), 10000);
  }
  ReleaseKeptMemory();
  EXPECT_EQ(KeptMemoryBytes(), 0u);
  KeepFreedMemory(0);
}

TEST(MemoryAccountTest, WhatLibTorchAllocatesForItselfIsCounted) {
  MemoryAccount account(1 << 20);
  MemoryAccount::Scope scope(&account);
  c10::List<int64_t> list;
  for (int64_t i = 0; i < 1000; ++i) list.push_back(i);
  EXPECT_GE(account.held(), 16000);
}

TEST(MemoryAccountTest, AccountsWithinOneAreRefusedWhereAllOfThemPassItsLimit) {
  MemoryAccount all(8 << 20);
  MemoryAccount first(INT64_MAX, &all), second(INT64_MAX, &all);
  std::vector<char> held;
  {
    MemoryAccount::Scope scope(&first);
    held.resize(5 << 20);
  }
  EXPECT_GE(all.held(), 5 << 20);
  MemoryAccount::Scope scope(&second);
  try {
    const std::vector<char> bytes(4 << 20);
    FAIL();
  } catch (const MemoryLimitError& error) {
    EXPECT_THAT(error.what(), HasSubstr("asked for 4194304 bytes while all requests held 52"));
    EXPECT_THAT(error.what(), HasSubstr("beyond their memory limit of 8388608 bytes"));
  }
  const std::vector<char> smaller(2 << 20);
  EXPECT_NO_THROW(second.Check());
}

TEST(MemoryAccountTest, AModelsRequestsMeetItsLimitAndThoseOfOthersDoNot) {
  MemoryAccount all(64 << 20);
  MemoryAccount model(8 << 20, &all, MemoryLimitError::Of::kModel), other_model(INT64_MAX, &all);
  MemoryAccount first(INT64_MAX, &model), second(INT64_MAX, &model), stranger(INT64_MAX, &other_model);
  std::vector<std::vector<char>> held;
  held.reserve(512);
  const auto hold = [&](MemoryAccount& account, size_t bytes) {
    MemoryAccount::Scope scope(&account);
    held.emplace_back(bytes);
  };
  hold(first, 5 << 20);
  EXPECT_GE(all.held(), 5 << 20);
  try {
    hold(second, 4 << 20);
    FAIL();
  } catch (const MemoryLimitError& error) {
    EXPECT_THAT(error.what(), HasSubstr("while all requests of the model held 52"));
  }
  EXPECT_NO_THROW(hold(stranger, 40 << 20));
  EXPECT_THROW(hold(stranger, 40 << 20), MemoryLimitError);  // that of all
  for (int i = 0; i < 64; ++i) hold(first, 64 << 10);
  EXPECT_THROW(first.Check(), MemoryLimitError);
  EXPECT_NO_THROW(second.Check());
  EXPECT_NO_THROW(stranger.Check());
}

TEST(MemoryAccountTest, WhatAnAccountHeldIsFreeAgainInTheOneAroundItWhenItEnds) {
  MemoryAccount all(8 << 20);
  std::vector<char> answer;
  {
    MemoryAccount one(INT64_MAX, &all);
    MemoryAccount::Scope scope(&one);
    answer.resize(5 << 20);
    one.Charge(2 << 20);
    EXPECT_THROW(one.Charge(2 << 20), MemoryLimitError);
    EXPECT_GE(all.held(), 7 << 20);
  }
  EXPECT_EQ(all.held(), 0);
}

TEST(MemoryAccountTest, OfManySmallAllocationsTheLargeHoldersEndWhereAllPassTheLimit) {
  MemoryAccount all(16 << 20);
  MemoryAccount large(INT64_MAX, &all), small(INT64_MAX, &all);
  std::vector<std::vector<char>> pieces;
  pieces.reserve(512);
  {
    MemoryAccount::Scope scope(&large);
    for (int i = 0; i < 300; ++i) pieces.emplace_back(64 << 10);
    EXPECT_THROW(large.Check(), MemoryLimitError);
  }
  MemoryAccount::Scope scope(&small);
  const std::vector<char> little(1000);
  EXPECT_NO_THROW(small.Check());
}

}  // namespace
}  // namespace hearth
