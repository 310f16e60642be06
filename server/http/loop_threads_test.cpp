#include "server/http/loop_threads.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

namespace hearth::server {
namespace {

using Clock = LoopThreads::Clock;

// Threads with a queue to carry, in the place of connections.
class LoopThreadsTest : public testing::Test {
 protected:
  using Work = std::function<void()>;

  void SetUp() override {
    threads_.Start([this] { return Carry(); });
  }
  void TearDown() override {
    Post({});
    threads_.Join();
  }

  // No work: the end.
  void Post(std::optional<Work> work) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(work));
    changed_.notify_one();
  }

  // Has it done, and waits for that.
  void Do(const Work& work) {
    std::promise<void> done;
    Post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }

  void WaitUntilWatched() {
    bool watched = false;
    while (!watched) Do([&] { watched = threads_.watched(); });
  }

  LoopThreads threads_;

 private:
  bool Carry() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !waiting_.empty(); });
    const std::optional<Work> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    if (work) (*work)();
    return work.has_value();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::optional<Work>> waiting_;
};

// A piece of work that lasts until the test lets it end.
struct Long {
  std::promise<void> taken_over, end;
  std::promise<bool> taken_back;
  std::thread::id lent_by, taken_by;

  void Run(LoopThreads& threads) {
    lent_by = std::this_thread::get_id();
    const uint64_t loan = threads.Lend(Clock::now(), [this] {
      taken_by = std::this_thread::get_id();
      taken_over.set_value();
    });
    end.get_future().wait();
    taken_back.set_value(threads.TakeBack(loan));
  }
};

TEST_F(LoopThreadsTest, WhatLastsIsLeftToItselfAndTheOtherThreadCarriesOn) {
  WaitUntilWatched();
  Long first;
  Post([&] { first.Run(threads_); });
  first.taken_over.get_future().wait();
  std::thread::id carrier;
  Do([&] {
    carrier = std::this_thread::get_id();
    EXPECT_FALSE(threads_.watched());
  });
  EXPECT_EQ(carrier, first.taken_by);
  EXPECT_NE(carrier, first.lent_by);
  first.end.set_value();
  EXPECT_FALSE(first.taken_back.get_future().get());

  // Who came too late watches now, and takes over in turn.
  WaitUntilWatched();
  Long second;
  Post([&] { second.Run(threads_); });
  second.taken_over.get_future().wait();
  EXPECT_EQ(second.taken_by, first.lent_by);
  second.end.set_value();
  EXPECT_FALSE(second.taken_back.get_future().get());
}

TEST_F(LoopThreadsTest, AWatcherThatHasFallenAsleepIsWokenByTheNextLoan) {
  WaitUntilWatched();
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // how long nothing is lent
    Long one;
    Post([&] { one.Run(threads_); });
    one.taken_over.get_future().wait();
    one.end.set_value();
    EXPECT_FALSE(one.taken_back.get_future().get());
    WaitUntilWatched();
  }
}

TEST_F(LoopThreadsTest, EveryLoanIsEndedOnce) {
  constexpr int kLoans = 20'000;
  int taken_back = 0, taken_over = 0;  // belong to who carries
  std::promise<void> done;
  std::function<void()> next = [&] {
    const auto ended = [&](int& count) {
      ++count;
      taken_back + taken_over < kLoans ? Post(next) : done.set_value();
    };
    const uint64_t loan = threads_.Lend(Clock::now(), [&, ended] { ended(taken_over); });
    // Now and then about as long as the other thread waits.
    if (loan % 100 == 0) {
      const auto end = Clock::now() + std::chrono::microseconds(loan / 100 % 20 * 120);
      while (Clock::now() < end) std::this_thread::yield();
    }
    if (threads_.TakeBack(loan)) ended(taken_back);
  };
  Post(next);
  done.get_future().wait();
  EXPECT_EQ(taken_back + taken_over, kLoans);
  EXPECT_GT(taken_back, 0);
}

TEST_F(LoopThreadsTest, TheEndWaitsForWhatLasts) {
  WaitUntilWatched();
  Long one;
  Post([&] { one.Run(threads_); });
  one.taken_over.get_future().wait();
  std::thread ender([&] { TearDown(); });
  one.end.set_value();
  ender.join();
  EXPECT_FALSE(one.taken_back.get_future().get());
}

}  // namespace
}  // namespace hearth::server
