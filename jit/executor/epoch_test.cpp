#include "jit/executor/epoch.h"

#include <gtest/gtest.h>

#include <latch>
#include <optional>
#include <set>
#include <thread>

namespace hearth {
namespace {

TEST(EpochTest, WhatIsRetiredWhileNobodyReadsIsFreeAtOnce) {
  EpochLimbo limbo;
  auto object = std::make_shared<int>(1);
  limbo.Retire(object);
  EXPECT_EQ(limbo.Collect().size(), 1);
  EXPECT_EQ(object.use_count(), 1);
  EXPECT_EQ(limbo.size(), 0);
}

TEST(EpochTest, WhatIsRetiredWhileAThreadReadsIsKeptUntilThatEnds) {
  EpochLimbo limbo;
  std::latch reads(1), retired(1), done(1);
  std::thread reader([&] {
    std::optional<EpochReader> reading(std::in_place);
    reads.count_down();
    retired.wait();
    reading.reset();
    done.count_down();
  });
  reads.wait();
  limbo.Retire(std::make_shared<int>(1));
  EXPECT_TRUE(limbo.Collect().empty());
  retired.count_down();
  done.wait();
  EXPECT_EQ(limbo.Collect().size(), 1);
  reader.join();
}

TEST(EpochTest, AReadingThatBeganAfterwardsKeepsNothing) {
  EpochLimbo limbo;
  limbo.Retire(std::make_shared<int>(1));
  const EpochReader reading;
  EXPECT_EQ(limbo.Collect().size(), 1);
}

TEST(EpochTest, TheOutermostOfNestedReadingsCounts) {
  EpochLimbo limbo;
  std::optional<EpochReader> outer(std::in_place);
  limbo.Retire(std::make_shared<int>(1));
  { const EpochReader inner; }
  EXPECT_TRUE(limbo.Collect().empty());
  outer.reset();
  EXPECT_EQ(limbo.Collect().size(), 1);
}

TEST(EpochTest, ThreadsThatLiveAtOnceHaveNumbersOfTheirOwnAndLaterOnesTakeThemOver) {
  constexpr int kThreads = 8;
  const auto numbers_of_threads = [] {
    std::vector<unsigned> numbers(kThreads);
    std::latch all(kThreads);
    std::vector<std::jthread> threads;
    for (unsigned& number : numbers) {
      threads.emplace_back([&] {
        number = EpochReader().thread_number();
        all.arrive_and_wait();
      });
    }
    threads.clear();
    return std::set<unsigned>(numbers.begin(), numbers.end());
  };
  const std::set<unsigned> first = numbers_of_threads();
  EXPECT_EQ(first.size(), kThreads);
  EXPECT_EQ(numbers_of_threads(), first);
}

// Readers follow a pointer that a writer swaps; each object says of itself when it is destroyed.
TEST(EpochTest, NoReaderEverSeesWhatHasBeenFreed) {
  struct Object {
    ~Object() { alive = 0; }
    uint64_t alive = 0x600d;
    int value = 0;
  };
  constexpr int kReaders = 3;
  auto owner = std::make_shared<Object>();
  std::atomic<Object*> pointer{owner.get()};
  std::atomic<bool> stop{false};
  std::atomic<int> faults{0};
  std::latch running(kReaders);
  EpochLimbo limbo;
  {
    std::vector<std::jthread> readers;
    for (int i = 0; i < kReaders; ++i) {
      readers.emplace_back([&] {
        running.count_down();
        for (int last = 0; !stop;) {
          const EpochReader reading;
          const Object* seen = pointer.load();
          if (seen->alive != 0x600d || seen->value < last) ++faults;
          last = seen->value;
        }
      });
    }
    running.wait();
    for (int i = 1; i <= 5000; ++i) {
      auto replacement = std::make_shared<Object>();
      replacement->value = i;
      pointer.store(replacement.get());
      limbo.Retire(std::exchange(owner, replacement));
      limbo.Collect();
    }
    stop = true;
  }
  limbo.Collect();
  EXPECT_EQ(faults, 0);
  EXPECT_EQ(limbo.size(), 0);
}

}  // namespace
}  // namespace hearth
