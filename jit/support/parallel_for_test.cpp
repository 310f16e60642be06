#include "jit/support/parallel_for.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace hearth {
namespace {

class ParallelForTest : public testing::Test {
 protected:
  void SetUp() override { at::set_num_threads(3); }
  void TearDown() override { at::set_num_threads(before_); }

  const int before_ = at::get_num_threads();
};

constexpr double kMillisecond = 1e6;

TEST_F(ParallelForTest, EveryIndexIsInOnePiece) {
  for (const int64_t count : {0, 1, 2, 11, 12, 13, 1000}) {
    for (const double nanoseconds : {0.0, 1.0, 100.0, 1000.0, 20'000.0, kMillisecond}) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
      ParallelFor(count, nanoseconds, [&](int64_t begin, int64_t end) {
        EXPECT_LT(begin, end);
        for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
      });
      for (const auto& times : seen) ASSERT_EQ(times, 1) << count << " of " << nanoseconds;
    }
  }
}

// Each piece waits until another thread has one, too: of short work and of long.
TEST_F(ParallelForTest, SeveralThreadsWorkAtTheSameTime) {
  for (const double nanoseconds : {kMillisecond / 50, kMillisecond}) {
    std::mutex mutex;
    std::condition_variable changed;
    std::set<std::thread::id> threads;
    ParallelFor(12, nanoseconds, [&](int64_t, int64_t) {
      std::unique_lock lock(mutex);
      threads.insert(std::this_thread::get_id());
      changed.notify_all();
      EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return threads.size() > 1; }));
    });
  }
}

// Each piece waits until all threads have one, so that none does another's.
TEST_F(ParallelForTest, AThreadHasTheSamePartOfTheWholeInEachCall) {
  std::vector<std::thread::id> first;
  for (const int64_t pieces : {3, 3, 6, 3}) {
    std::mutex mutex;
    std::condition_variable changed;
    std::set<std::thread::id> threads;
    std::vector<std::thread::id> of_piece(static_cast<size_t>(pieces));
    ParallelFor(pieces, kMillisecond, [&](int64_t begin, int64_t end) {
      std::unique_lock lock(mutex);
      for (int64_t i = begin; i < end; ++i) of_piece[static_cast<size_t>(i)] = std::this_thread::get_id();
      threads.insert(std::this_thread::get_id());
      changed.notify_all();
      EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return threads.size() == 3; }));
    });
    std::vector<std::thread::id> of_thirds;
    for (int64_t i = 0; i < 3; ++i) of_thirds.push_back(of_piece[static_cast<size_t>(i * pieces / 3)]);
    if (first.empty()) first = of_thirds;
    EXPECT_EQ(of_thirds, first) << "of " << pieces;
  }
}

TEST_F(ParallelForTest, PiecesAreNotShorterThanWhatTheyCost) {
  std::atomic<int> pieces{0};
  ParallelFor(1000, 100, [&](int64_t begin, int64_t end) {
    ++pieces;
    EXPECT_TRUE(end - begin >= 50 || end == 1000);
  });
  EXPECT_LE(pieces, 12);
  EXPECT_GT(pieces, 1);
}

TEST_F(ParallelForTest, WhatIsSmallOrInsideIsOnePieceOfTheCallingThread) {
  const auto self = std::this_thread::get_id();
  std::atomic<int> pieces{0};
  const auto expect_whole = [&](int64_t begin, int64_t end) {
    EXPECT_EQ(end - begin, 10);
    ++pieces;
  };
  ParallelFor(10, 100, [&](int64_t begin, int64_t end) {
    EXPECT_EQ(std::this_thread::get_id(), self);
    expect_whole(begin, end);
  });
  ParallelFor(2, kMillisecond, [&](int64_t begin, int64_t end) {
    for (; begin < end; ++begin) ParallelFor(10, kMillisecond, expect_whole);
  });
  at::set_num_threads(1);
  ParallelFor(10, kMillisecond, expect_whole);
  EXPECT_EQ(pieces, 4);
}

// Of three threads: none for short work, a part each where they are worth it, and more pieces of longer parts, four at
// most.
TEST_F(ParallelForTest, LongWorkIsDividedIntoPiecesOfParts) {
  const auto division = [](double nanoseconds) {
    const WorkDivision of = DivisionFor(nanoseconds);
    return std::pair(of.parts, of.pieces_of_part);
  };
  EXPECT_EQ(division(1'000), std::pair(1, 1));
  EXPECT_EQ(division(30'000), std::pair(3, 1));
  EXPECT_EQ(division(75'000), std::pair(3, 2));
  EXPECT_EQ(division(kMillisecond), std::pair(3, 4));
}

TEST_F(ParallelForTest, WhatIsThrownComesOutAndTheRestIsLeft) {
  std::atomic<int> pieces{0};
  const auto run = [&](double nanoseconds) {
    ParallelFor(1'000'000, nanoseconds, [&](int64_t begin, int64_t) {
      ++pieces;
      if (begin == 0) throw std::runtime_error("the first");
    });
  };
  for (const double nanoseconds : {0.3, kMillisecond}) {
    pieces = 0;
    EXPECT_THROW(run(nanoseconds), std::runtime_error);
    EXPECT_LE(pieces, 12);
  }
}

}  // namespace
}  // namespace hearth
