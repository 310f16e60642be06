#include "jit/support/worker_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "jit/support/processor_time.h"

namespace hearth {
namespace {

// Each call waits until all are there.
TEST(WorkerThreadsTest, SleepingThreadsAreAllWokenWhereThatIsWorthIt) {
  for (const int others : {1, 3, 8}) {
    std::mutex mutex;
    std::condition_variable changed;
    std::set<std::thread::id> threads;
    WorkerThreads::Get().Run(others, true, [&](int) {
      EXPECT_TRUE(WorkerThreads::AtWork());
      std::unique_lock lock(mutex);
      threads.insert(std::this_thread::get_id());
      changed.notify_all();
      const auto all = static_cast<size_t>(others) + 1;
      EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return threads.size() == all; }));
    });
    EXPECT_FALSE(WorkerThreads::AtWork());
  }
}

TEST(WorkerThreadsTest, WhoCallsWaitsForThoseWhoHaveBegunAndForNobodyElse) {
  const auto self = std::this_thread::get_id();
  for (int round = 0; round < 2000; ++round) {
    std::atomic<int> begun{0}, ended{0};
    WorkerThreads::Get().Run(4, round % 3 != 0, [&](int) {
      ++begun;
      if (std::this_thread::get_id() != self) std::this_thread::yield();
      ++ended;
    });
    ASSERT_GE(begun, 1);
    ASSERT_LE(begun, 5);
    ASSERT_EQ(begun, ended);
  }
}

TEST(WorkerThreadsTest, WhoCallsIsWokenByAThreadThatTakesLong) {
  const auto self = std::this_thread::get_id();
  for (int round = 0; round < 5; ++round) {
    std::atomic<bool> begun{false}, ended{false};
    WorkerThreads::Get().Run(1, true, [&](int) {
      if (std::this_thread::get_id() == self) {
        while (!begun) std::this_thread::yield();
      } else {
        begun = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        ended = true;
      }
    });
    ASSERT_TRUE(ended);
  }
}

TEST(WorkerThreadsTest, AThreadHasTheSameNumberInEachCall) {
  std::mutex mutex;
  std::map<std::thread::id, std::set<int>> numbers;
  for (int round = 0; round < 200; ++round) {
    const int others = 1 + round % 4;
    WorkerThreads::Get().Run(others, true, [&](int number) {
      const std::lock_guard lock(mutex);
      EXPECT_LE(number, others);
      numbers[std::this_thread::get_id()].insert(number);
    });
  }
  EXPECT_EQ(numbers.at(std::this_thread::get_id()), std::set{0});
  std::set<int> all;
  for (const auto& [thread, of_thread] : numbers) {
    EXPECT_EQ(of_thread.size(), 1u);
    EXPECT_TRUE(all.insert(*of_thread.begin()).second) << "two threads have number " << *of_thread.begin();
  }
}

// A thread works for one caller at a time, and all callers' work is done.
TEST(WorkerThreadsTest, ManyMayCallAtOnce) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 2000; ++round) {
        std::atomic<int> next{0}, sum{0};
        thread_local int depth = 0;
        WorkerThreads::Get().Run(3, true, [&](int) {
          if (++depth != 1) ++wrong;
          for (int i; (i = next++) < 50;) sum += i;
          --depth;
        });
        if (sum != 1225) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(WorkerThreadsTest, ThreadsThatAreNotCalledSleep) {
  for (int round = 0; round < 100; ++round) WorkerThreads::Get().Run(4, true, [](int) {});
  const auto before = TimeOf(CLOCK_PROCESS_CPUTIME_ID);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_LT(TimeOf(CLOCK_PROCESS_CPUTIME_ID) - before, std::chrono::milliseconds(250));
}

}  // namespace
}  // namespace hearth
