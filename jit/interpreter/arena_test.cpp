#include "jit/interpreter/arena.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/fill.h>
#include <ATen/ops/floor_divide.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/resize.h>
#include <ATen/ops/zero.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "jit/support/arena_limits.h"
#include "jit/support/cpu_allocator.h"
#include "jit/support/memory_account.h"
#include "jit/support/placed_allocation.h"

namespace hearth {
namespace {

using Numbers = std::vector<int64_t>;
using Kind = ArenaLayout::Step::Kind;

// Two that overlap, and one of another kind over them.
ArenaLayout Fixed() {
  ArenaLayout layout;
  for (const int64_t size : {2, 3, 4, 5}) layout.steps.push_back({Kind::kConstant, size, 0});
  layout.places = {{c10::kFloat, {0, 1}, {}}, {c10::kFloat, {2}, {}}, {c10::kLong, {3}, {0, 1}}};
  return layout;
}

// Of a number n, floats: one of [n, 3], one of [3n] over it, one of [n] over that and one of [n] under all.
ArenaLayout OfNumber() {
  ArenaLayout layout;
  layout.num_given = 1;
  layout.steps = {{Kind::kConstant, 3, 0}, {Kind::kMultiply, 0, 1}};
  layout.places = {
      {c10::kFloat, {0}, {}}, {c10::kFloat, {0, 1}, {0}}, {c10::kFloat, {2}, {1}}, {c10::kFloat, {0}, {2}}};
  return layout;
}

TEST(ArenaTest, TensorsLieOverThoseThatTheirPlacesName) {
  const Arenas arenas(Fixed());
  const std::unique_ptr<Arena> arena = arenas.Take({});
  EXPECT_EQ(arena->bytes(), 128u);
  const at::Tensor& first = arena->tensor(0).toTensor();
  const at::Tensor& second = arena->tensor(1).toTensor();
  const at::Tensor& third = arena->tensor(2).toTensor();
  EXPECT_EQ(first.sizes(), (Numbers{2, 3}));
  EXPECT_EQ(first.strides(), (Numbers{3, 1}));
  EXPECT_EQ(first.data_ptr(), second.data_ptr());
  EXPECT_EQ(third.dtype(), c10::kLong);
  EXPECT_EQ(static_cast<char*>(third.data_ptr()) - static_cast<char*>(first.data_ptr()), 64);
  EXPECT_FALSE(first.is_inference());
}

TEST(ArenaTest, EachTensorIsTheWholeOfItsStorage) {
  const Arenas arenas(OfNumber());
  for (const int64_t n : {4, 400, 4}) {
    std::unique_ptr<Arena> arena = arenas.Take(Numbers{n});
    for (size_t place = 0; place < 4; ++place) {
      const at::Tensor& tensor = arena->tensor(place).toTensor();
      EXPECT_EQ(tensor.storage_offset(), 0);
      EXPECT_EQ(tensor.storage().nbytes(), tensor.nbytes());
    }
    arenas.Give(std::move(arena));
  }
}

TEST(ArenaTest, SizesAndPlacesFollowTheNumbersOfARun) {
  const Arenas arenas(OfNumber());
  for (const int64_t n : {2, 100, 7, 1000, 1, 7, 33, 34, 35, 36, 37, 38, 5000}) {
    std::unique_ptr<Arena> arena = arenas.Take(Numbers{n});
    EXPECT_EQ(arena->tensor(0).toTensor().sizes(), (Numbers{n}));
    EXPECT_EQ(arena->tensor(1).toTensor().sizes(), (Numbers{n, 3}));
    EXPECT_EQ(arena->tensor(1).toTensor().strides(), (Numbers{3, 1}));
    EXPECT_EQ(arena->tensor(2).toTensor().sizes(), (Numbers{3 * n}));
    for (size_t place = 0; place < 4; ++place) {
      arena->tensor(place).toTensor().fill_(static_cast<double>(place));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(arena->tensor(place).toTensor().data_ptr()) % kArenaAlignment, 0u);
    }
    for (size_t place = 0; place < 4; ++place) {
      const at::Tensor& tensor = arena->tensor(place).toTensor();
      EXPECT_TRUE(tensor.equal(at::full_like(tensor, static_cast<double>(place)))) << n << ": " << place;
    }
    arenas.Give(std::move(arena));
  }
}

TEST(ArenaTest, AnArenaServesTheNextRunOfTheSameNumbers) {
  const Arenas arenas(OfNumber());
  std::unique_ptr<Arena> small = arenas.Take(Numbers{2}), large = arenas.Take(Numbers{50});
  const Arena* const of_2 = small.get();
  const Arena* const of_50 = large.get();
  EXPECT_NE(of_2, of_50);
  arenas.Give(std::move(small));
  arenas.Give(std::move(large));
  for (int i = 0; i < 3; ++i) {
    large = arenas.Take(Numbers{50});
    EXPECT_EQ(large.get(), of_50);
    small = arenas.Take(Numbers{2});
    EXPECT_EQ(small.get(), of_2);
    arenas.Give(std::move(small));
    arenas.Give(std::move(large));
  }
}

TEST(ArenaTest, AThreadsRunsUseTheSameArena) {
  const Arenas arenas(OfNumber());
  const auto use = [&arenas] {
    std::unique_ptr<Arena> arena = arenas.Take(Numbers{2});
    const Arena* const used = arena.get();
    arenas.Give(std::move(arena));
    return used;
  };
  const Arena* const ours = use();
  const Arena* theirs = nullptr;
  std::thread other([&] {
    theirs = use();
    EXPECT_EQ(use(), theirs);
  });
  other.join();
  EXPECT_NE(ours, theirs);
  EXPECT_EQ(use(), ours);
}

TEST(ArenaTest, ARunOfNewNumbersGetsTheArenaThatWasNotUsedForLongest) {
  const Arenas arenas(OfNumber());
  const auto use = [&](int64_t n) {
    std::unique_ptr<Arena> arena = arenas.Take(Numbers{n});
    EXPECT_EQ(arena->tensor(0).toTensor().sizes(), (Numbers{n}));
    const Arena* const used = arena.get();
    arenas.Give(std::move(arena));
    return used;
  };
  std::vector<const Arena*> used;
  for (size_t i = 0; i < Arenas::kMost; ++i) used.push_back(use(10 + static_cast<int64_t>(i)));
  EXPECT_EQ(use(10), used[0]);
  EXPECT_EQ(use(1000), used[1]);
  EXPECT_EQ(use(1001), used[2]);
  EXPECT_EQ(use(10), used[0]);
  EXPECT_EQ(use(13), used[3]);
}

// So many that an arena of OfNumber has its memory for one run at a time.
constexpr int64_t kMany = kMostBytesKept / sizeof(float);

TEST(ArenaTest, WhatIsEmptyForARunIsATensorOfItsOwn) {
  const Arenas arenas(OfNumber());
  for (const int64_t n : {int64_t{3}, int64_t{0}, kMany, int64_t{0}, int64_t{5}}) {
    std::unique_ptr<Arena> arena = arenas.Take(Numbers{n});
    for (size_t place = 0; place < 4; ++place) EXPECT_EQ(arena->tensor(place).isTensor(), n != 0) << n;
    const at::Tensor made = arena->Make(1);
    EXPECT_EQ(made.sizes(), (Numbers{n, 3}));
    EXPECT_EQ(made.strides(), (Numbers{3, 1}));
    EXPECT_TRUE(arena->IsFree());
    arenas.Give(std::move(arena));
  }
}

TEST(ArenaTest, ALargeArenaHasMemoryForOneRunAtATime) {
  const ArenaLayout layout = OfNumber();
  std::atomic<size_t> count{0};
  Arena arena(layout, &count);
  for (const int64_t n : {kMany, int64_t{4}, kMany, kMany + 5, int64_t{7}}) {
    arena.FitTo(Numbers{n});
    for (int run = 0; run < 3; ++run) {
      arena.Acquire();
      EXPECT_GE(arena.capacity(), arena.bytes());
      for (size_t place = 0; place < 4; ++place) {
        const at::Tensor& tensor = arena.tensor(place).toTensor();
        tensor.fill_(static_cast<double>(place));
        EXPECT_EQ(tensor.storage().nbytes(), tensor.nbytes());
      }
      for (size_t place = 0; place < 4; ++place) {
        const at::Tensor& tensor = arena.tensor(place).toTensor();
        EXPECT_TRUE(tensor.equal(at::full_like(tensor, static_cast<double>(place)))) << n << ": " << place;
      }
      EXPECT_TRUE(arena.IsFree());
      arena.Release();
      EXPECT_EQ(arena.capacity() > 0, n < kMany) << "what is idle is the allocator's";
    }
  }
}

TEST(ArenaTest, ALargeArenaThatAnAccountHasNoRoomForIsTensorsOfTheirOwn) {
  InstallCountingAllocator();
  const Arenas arenas(OfNumber());
  for (const bool has_room : {true, false, true}) {
    std::unique_ptr<Arena> arena;
    MemoryAccount account(has_room ? int64_t{1} << 40 : 32 * kMany - 1);
    const MemoryAccount::Scope scope(&account);
    ASSERT_NO_THROW(arena = arenas.Take(Numbers{kMany}));
    for (size_t place = 0; place < 4; ++place) EXPECT_EQ(arena->tensor(place).isTensor(), has_room);
    EXPECT_EQ(static_cast<bool>(arena->memory_of(0)), has_room);
    if (has_room) {
      EXPECT_GE(account.held(), 32 * kMany);
    }
    arenas.Give(std::move(arena));
    EXPECT_LT(account.held(), 5000);
    EXPECT_NO_THROW(account.Check());
  }
}

TEST(ArenaTest, WhatAnOperatorAllocatesForItselfLiesInItsPlace) {
  InstallCountingAllocator();
  const Arenas arenas(OfNumber());
  for (const int64_t n : {int64_t{100}, kMany}) {
    std::unique_ptr<Arena> arena = arenas.Take(Numbers{n});
    const at::Tensor x = at::rand({3 * n});
    at::Tensor made, other;
    {
      const PlacedAllocation placed(arena->bytes_of(2), arena->memory_of(2));
      other = at::exp(x.slice(0, 0, n));
      made = at::exp(x);
      EXPECT_NE(at::exp(x).data_ptr(), made.data_ptr()) << "a place is for one tensor";
    }
    EXPECT_EQ(made.data_ptr(), arena->tensor(2).toTensor().data_ptr());
    EXPECT_NE(other.data_ptr(), made.data_ptr());
    EXPECT_TRUE(made.equal(at::exp(x)));
    EXPECT_FALSE(arena->IsFree());
    if (n == kMany) {
      arenas.Give(std::move(arena));
      EXPECT_TRUE(made.equal(at::exp(x))) << "it stays while somebody has it";
    } else {
      made.reset();
      EXPECT_TRUE(arena->IsFree());
    }
  }
}

TEST(ArenaTest, DivisionsRoundDownAsInPython) {
  ArenaLayout layout;
  layout.num_given = 2;
  layout.steps = {{Kind::kDivide, 0, 1}, {Kind::kRemainder, 0, 1}};
  for (const int64_t divisor : {3, -3, 1, 7}) {
    const at::Tensor dividends = at::arange(-10, 10);
    const at::Tensor quotients = at::floor_divide(dividends, divisor);
    const at::Tensor remainders = at::remainder(dividends, divisor);
    for (int64_t i = 0; i < dividends.numel(); ++i) {
      Numbers numbers;
      layout.Compute(Numbers{i - 10, divisor}, &numbers);
      EXPECT_EQ(numbers[2], quotients[i].item<int64_t>()) << i - 10 << " by " << divisor;
      EXPECT_EQ(numbers[3], remainders[i].item<int64_t>()) << i - 10 << " by " << divisor;
    }
  }
}

TEST(ArenaTest, OfASizeThatCannotBeToldThereIsNoTensor) {
  ArenaLayout layout;
  layout.num_given = 2;
  layout.steps = {{Kind::kDivide, 0, 1}, {Kind::kMultiply, 2, 0}, {Kind::kAdd, 3, 0}};
  layout.places = {{c10::kFloat, {2}, {}}, {c10::kFloat, {3}, {}}, {c10::kFloat, {4}, {}}};
  const Arenas arenas(layout);
  const int64_t huge = int64_t{1} << 62;
  for (const Numbers& numbers : {Numbers{5, 0}, Numbers{huge, 1}, Numbers{-4, 1}, Numbers{INT64_MIN, -1}}) {
    const std::unique_ptr<Arena> arena = arenas.Take(numbers);
    EXPECT_TRUE(arena->tensor(0).isNone());
    EXPECT_THROW(arena->Make(0), std::exception);
  }
  EXPECT_EQ(arenas.Take(Numbers{4, 2})->tensor(2).toTensor().sizes(), (Numbers{12}));
}

TEST(ArenaTest, WhatSomebodyStillRefersToIsNotUsedAgain) {
  const Arenas arenas(OfNumber());
  for (const bool view : {false, true}) {
    std::unique_ptr<Arena> arena = arenas.Take(Numbers{4});
    at::Tensor tensor = arena->tensor(1).toTensor();
    tensor.fill_(7);
    const at::Tensor kept = view ? tensor.view({3, 4}) : tensor;
    tensor.reset();
    EXPECT_FALSE(arena->IsFree());
    arenas.Give(std::move(arena));
    for (const int64_t n : {4, 400}) {
      const std::unique_ptr<Arena> next = arenas.Take(Numbers{n});
      next->tensor(1).toTensor().zero_();
      EXPECT_EQ(kept.numel(), 12);
      EXPECT_EQ(kept.data_ptr<float>()[0], 7);
    }
  }
}

TEST(ArenaTest, WhatARunIsLeftWithIsItsOwnToChange) {
  const Arenas arenas(OfNumber());
  std::unique_ptr<Arena> arena = arenas.Take(Numbers{4});
  const at::Tensor kept = arena->tensor(1).toTensor().fill_(7);
  at::Tensor(arena->tensor(3).toTensor()).resize_({2, 2}).t_();
  arenas.Leave(std::move(arena));
  const std::unique_ptr<Arena> next = arenas.Take(Numbers{4});
  for (size_t place = 0; place < 4; ++place) next->tensor(place).toTensor().zero_();
  EXPECT_EQ(next->tensor(3).toTensor().sizes(), (Numbers{4}));
  EXPECT_EQ(kept.data_ptr<float>()[0], 7);
  at::Tensor(kept).resize_({100, 3}).fill_(8);
  EXPECT_EQ(next->tensor(2).toTensor().data_ptr<float>()[0], 0);
}

TEST(ArenaTest, WhatARunNeedsCountsForItsAccount) {
  InstallCountingAllocator();
  const Arenas arenas(OfNumber());
  for (const int64_t n : {1000, 10, 1000, 500}) {
    MemoryAccount account(60000);
    const MemoryAccount::Scope scope(&account);
    const int64_t bytes = 8 * n * static_cast<int64_t>(sizeof(float));
    std::unique_ptr<Arena> arena = arenas.Take(Numbers{n});
    EXPECT_GE(account.held(), bytes);
    EXPECT_LT(account.held(), bytes + 5000);
    EXPECT_THROW(arenas.Take(Numbers{2000}), MemoryLimitError);
    arenas.Give(std::move(arena));
    EXPECT_LT(account.held(), 5000);
  }
}

TEST(ArenaTest, WhatARunLeavesBehindCountsUntilItIsFreed) {
  InstallCountingAllocator();
  const Arenas arenas(OfNumber());
  // It has more memory than the next run needs.
  for (size_t i = 0; i < Arenas::kMost; ++i) {
    std::vector<std::unique_ptr<Arena>> taken;
    for (size_t j = 0; j < Arenas::kMost; ++j) taken.push_back(arenas.Take(Numbers{1000}));
    for (std::unique_ptr<Arena>& arena : taken) arenas.Give(std::move(arena));
  }
  MemoryAccount account(1 << 20);
  const MemoryAccount::Scope scope(&account);
  std::unique_ptr<Arena> arena = arenas.Take(Numbers{10});
  at::Tensor kept = arena->tensor(0).toTensor();
  EXPECT_LT(account.held(), 5000);
  arenas.Give(std::move(arena));
  EXPECT_GE(account.held(), 30000);
  kept.reset();
  EXPECT_LT(account.held(), 5000);
  EXPECT_GT(account.held(), -5000);
}

TEST(ArenaTest, NoTwoThreadsHaveOne) {
  const Arenas arenas(OfNumber());
  std::vector<std::thread> threads;
  for (int64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&arenas, thread] {
      for (int64_t i = 0; i < 2000; ++i) {
        const int64_t n = 1 + (i * 7 + thread) % 20;
        std::unique_ptr<Arena> arena = arenas.Take(Numbers{n});
        const at::Tensor& tensor = arena->tensor(1).toTensor();
        EXPECT_EQ(tensor.numel(), 3 * n);
        float* memory = tensor.mutable_data_ptr<float>();
        memory[3 * n - 1] = static_cast<float>(thread);
        std::this_thread::yield();
        EXPECT_EQ(memory[3 * n - 1], static_cast<float>(thread));
        arenas.Give(std::move(arena));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace hearth
