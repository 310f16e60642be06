#include "jit/support/kept_memory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <thread>
#include <vector>

namespace hearth {
namespace {

constexpr size_t kUnit = KeptMemory::kLeastBytes;

// malloc's blocks that are in nobody's hands, so that whatever is lost or freed twice shows.
std::set<void*>& Alive() {
  static std::set<void*> alive;
  return alive;
}

void* Allocate(KeptMemory& kept, size_t bytes) {
  void* memory = std::malloc(kept.SizeFor(bytes));
  Alive().insert(memory);
  return memory;
}

void Free(void* memory) {
  EXPECT_EQ(Alive().erase(memory), 1u);
  std::free(memory);
}

class KeptMemoryTest : public testing::Test {
 protected:
  ~KeptMemoryTest() override {
    kept.Release();
    EXPECT_TRUE(Alive().empty());
  }
  void Give(void* memory, size_t bytes, KeptMemory::Clock::time_point now = KeptMemory::Clock::now()) {
    kept.Give(memory, kept.SizeFor(bytes), now);
  }

  KeptMemory kept{&Free};
};

TEST_F(KeptMemoryTest, NothingIsKeptWithoutALimit) {
  EXPECT_EQ(kept.SizeFor(5 * kUnit + 3), 5 * kUnit + 3);
  kept.Give(Allocate(kept, 5 * kUnit), 5 * kUnit);
  EXPECT_EQ(kept.Take(5 * kUnit), nullptr);
  EXPECT_TRUE(Alive().empty());
}

TEST_F(KeptMemoryTest, SizesAreRoundedUpByASixteenthAtMost) {
  kept.SetLimit(size_t{1} << 30);
  size_t last = 0;
  for (size_t bytes = kUnit; bytes < (size_t{1} << 40); bytes += bytes / 37 + 1) {
    const size_t size = kept.SizeFor(bytes);
    EXPECT_GE(size, bytes);
    EXPECT_LE(size, bytes + bytes / 16);
    EXPECT_EQ(kept.SizeFor(size), size);
    EXPECT_GE(size, last);
    last = size;
  }
  EXPECT_EQ(kept.SizeFor(kUnit - 1), kUnit - 1);
  EXPECT_EQ(kept.SizeFor(SIZE_MAX), SIZE_MAX);
}

TEST_F(KeptMemoryTest, ABlockServesWhateverItsSizeIsFor) {
  kept.SetLimit(64 * kUnit);
  void* memory = Allocate(kept, 3 * kUnit + 1);
  Give(memory, 3 * kUnit + 1);
  EXPECT_EQ(kept.bytes(), kept.SizeFor(3 * kUnit + 1));
  EXPECT_EQ(kept.Take(3 * kUnit), nullptr) << "that is a smaller class";
  EXPECT_EQ(kept.Take(4 * kUnit), nullptr);
  EXPECT_EQ(kept.Take(3 * kUnit + 1000), memory);
  EXPECT_EQ(kept.Take(3 * kUnit + 1000), nullptr);
  EXPECT_EQ(kept.bytes(), 0u);
  Free(memory);
}

TEST_F(KeptMemoryTest, OfOneSizeTheNewestIsGivenFirst) {
  kept.SetLimit(64 * kUnit);
  std::vector<void*> blocks;
  for (int i = 0; i < 3; ++i) blocks.push_back(Allocate(kept, 2 * kUnit));
  for (void* block : blocks) Give(block, 2 * kUnit);
  for (int i = 2; i >= 0; --i) EXPECT_EQ(kept.Take(2 * kUnit), blocks[static_cast<size_t>(i)]);
  for (void* block : blocks) Free(block);
}

TEST_F(KeptMemoryTest, WhatWasFreedLongestAgoMakesRoom) {
  kept.SetLimit(8 * kUnit);
  void* first = Allocate(kept, 4 * kUnit);
  void* second = Allocate(kept, 2 * kUnit);
  void* third = Allocate(kept, 3 * kUnit);
  Give(first, 4 * kUnit);
  Give(second, 2 * kUnit);
  Give(third, 3 * kUnit);
  EXPECT_EQ(kept.bytes(), 5 * kUnit);
  EXPECT_EQ(Alive(), (std::set<void*>{second, third}));
  Give(Allocate(kept, 9 * kUnit), 9 * kUnit);
  EXPECT_EQ(kept.bytes(), 5 * kUnit) << "what is larger than the limit makes no room";
  kept.SetLimit(4 * kUnit);
  EXPECT_EQ(Alive(), (std::set<void*>{third}));
}

TEST_F(KeptMemoryTest, WhatNobodyWantedForLongIsReleased) {
  kept.SetLimit(64 * kUnit);
  const auto start = KeptMemory::Clock::now();
  void* old = Allocate(kept, 2 * kUnit);
  void* taken = Allocate(kept, 2 * kUnit);
  void* young = Allocate(kept, 4 * kUnit);
  Give(old, 2 * kUnit, start);
  Give(taken, 2 * kUnit, start + std::chrono::seconds(1));
  Give(young, 4 * kUnit, start + std::chrono::seconds(5));
  EXPECT_EQ(kept.Take(2 * kUnit), taken);
  Give(taken, 2 * kUnit, start + std::chrono::seconds(6));
  kept.Release(start + std::chrono::seconds(3));
  EXPECT_EQ(Alive(), (std::set<void*>{taken, young}));
}

TEST(KeptMemoryThreadsTest, NoBlockIsInTwoHands) {
  KeptMemory kept(&std::free);
  kept.SetLimit(16 * kUnit);
  std::vector<std::thread> threads;
  for (unsigned char thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&kept, thread] {
      for (size_t i = 0; i < 500; ++i) {
        const size_t bytes = (1 + (i * 7 + thread) % 5) * kUnit;
        auto* memory = static_cast<unsigned char*>(kept.Take(bytes));
        if (memory == nullptr) memory = static_cast<unsigned char*>(std::malloc(kept.SizeFor(bytes)));
        memory[0] = memory[bytes - 1] = thread;
        std::this_thread::yield();
        EXPECT_EQ(memory[0], thread);
        EXPECT_EQ(memory[bytes - 1], thread);
        kept.Give(memory, kept.SizeFor(bytes));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(kept.bytes(), 16 * kUnit);
}

}  // namespace
}  // namespace hearth
