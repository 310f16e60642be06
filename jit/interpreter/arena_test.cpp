#include "jit/interpreter/arena.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/fill.h>
#include <ATen/ops/zero.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "jit/support/cpu_allocator.h"
#include "jit/support/memory_account.h"

namespace hearth {
namespace {

// Two that overlap, and one of another kind behind.
ArenaLayout Layout() { return {{{0, c10::kFloat, {2, 3}}, {0, c10::kFloat, {4}}, {64, c10::kLong, {5}}}}; }

TEST(ArenaTest, TensorsLieWhereTheirSlotsSay) {
  const Arenas arenas(Layout());
  EXPECT_EQ(arenas.bytes(), 64u + 5 * sizeof(int64_t));
  const std::unique_ptr<Arena> arena = arenas.Take();
  const at::Tensor& first = arena->tensor(0).toTensor();
  const at::Tensor& second = arena->tensor(1).toTensor();
  const at::Tensor& third = arena->tensor(2).toTensor();
  EXPECT_EQ(first.sizes(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(first.strides(), (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(first.data_ptr(), second.data_ptr());
  EXPECT_EQ(third.dtype(), c10::kLong);
  EXPECT_EQ(static_cast<char*>(third.data_ptr()) - static_cast<char*>(first.data_ptr()), 64);
  EXPECT_FALSE(first.is_inference());
}

TEST(ArenaTest, AnArenaServesTheNextRun) {
  const Arenas arenas(Layout());
  std::unique_ptr<Arena> arena = arenas.Take();
  Arena* const first = arena.get();
  EXPECT_NE(arenas.Take().get(), first);
  arenas.Give(std::move(arena));
  EXPECT_EQ(arenas.Take().get(), first);
}

TEST(ArenaTest, WhatSomebodyStillRefersToIsNotUsedAgain) {
  const Arenas arenas(Layout());
  for (const bool view : {false, true}) {
    std::unique_ptr<Arena> arena = arenas.Take();
    at::Tensor tensor = arena->tensor(0).toTensor();
    tensor.fill_(7);
    const at::Tensor kept = view ? tensor.view({3, 2}) : tensor;
    tensor.reset();
    EXPECT_FALSE(arena->IsFree());
    arenas.Give(std::move(arena));
    const std::unique_ptr<Arena> next = arenas.Take();
    next->tensor(0).toTensor().zero_();
    EXPECT_EQ(kept.data_ptr<float>()[0], 7);
  }
}

TEST(ArenaTest, ItCountsForTheRunThatHasIt) {
  InstallCountingAllocator();
  const Arenas arenas({{{0, c10::kFloat, {100000}}}});
  for (int run = 0; run < 3; ++run) {
    MemoryAccount account(500000);
    const MemoryAccount::Scope scope(&account);
    std::unique_ptr<Arena> arena = arenas.Take();
    EXPECT_GE(account.held(), 400000);
    EXPECT_LT(account.held(), 410000);
    EXPECT_THROW(arenas.Take(), MemoryLimitError);
    arenas.Give(std::move(arena));
    EXPECT_LT(account.held(), 10000);
  }
}

TEST(ArenaTest, NoTwoThreadsHaveOne) {
  const Arenas arenas(Layout());
  std::vector<std::thread> threads;
  for (int64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&arenas, thread] {
      for (int i = 0; i < 2000; ++i) {
        std::unique_ptr<Arena> arena = arenas.Take();
        int64_t* memory = arena->tensor(2).toTensor().mutable_data_ptr<int64_t>();
        memory[0] = thread;
        std::this_thread::yield();
        EXPECT_EQ(memory[0], thread);
        arenas.Give(std::move(arena));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace hearth
