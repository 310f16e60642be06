#include "jit/interpreter/thread_pool.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <latch>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "jit/interpreter/interpreter.h"
#include "jit/interpreter/test_support.h"

namespace hearth {
namespace {

using namespace std::chrono_literals;

TEST(ThreadPoolTest, TasksThatTasksPostAreAllRunBeforeThePoolEnds) {
  constexpr int kTasks = 20;
  constexpr int kDepth = 200;
  std::atomic<int> run{0};
  std::optional<ThreadPool> pool(std::in_place, 4);
  std::function<void(int)> next = [&](int left) {
    ++run;
    if (left > 0) pool->Post([&next, left] { next(left - 1); });
  };
  for (int i = 0; i < kTasks; ++i) pool->Post([&next] { next(kDepth - 1); });
  pool.reset();
  EXPECT_EQ(run, kTasks * kDepth);
}

TEST(ThreadPoolTest, APoolOfLowPriorityGivesWayToTheOthers) {
  const int usual = getpriority(PRIO_PROCESS, 0);
  const auto priority_in = [](ThreadPool& pool) {
    std::promise<int> priority;
    pool.Post([&] { priority.set_value(getpriority(PRIO_PROCESS, 0)); });
    return priority.get_future().get();
  };
  ThreadPool pool(1);
  ThreadPool low(1, 0, ThreadPool::Priority::kLow);
  EXPECT_EQ(priority_in(low), std::min(usual + 5, 19));
  EXPECT_EQ(priority_in(pool), usual);
}

TEST(ThreadPoolTest, ATaskIsNotLeftBehindAThreadThatIsBusy) {
  std::latch other_ran(1);
  std::latch over(1);
  ThreadPool pool(2);
  // The one that waits has posted to its own queue what it waits for; the other thread takes it.
  pool.Post([&] {
    for (int i = 0; i < 3; ++i) pool.Post([] {});
    pool.Post([&] { other_ran.count_down(); });
    other_ran.wait();
    over.count_down();
  });
  over.wait();
}

TEST(ThreadPoolTest, ATaskIsNotLeftBehindAThreadThatAlwaysHasMoreOfItsOwn) {
  std::latch both_busy(2);
  std::atomic<bool> over{false};
  std::latch done(2);
  std::function<void()> again;
  ThreadPool pool(2);
  // One thread is stuck with a task in its queue, the other one's queue is never empty.
  pool.Post([&] {
    both_busy.arrive_and_wait();
    pool.Post([&] { over = true; });
    while (!over) std::this_thread::yield();
    done.count_down();
  });
  again = [&] {
    if (over) return done.count_down();
    pool.Post(again);
  };
  pool.Post([&] {
    both_busy.arrive_and_wait();
    again();
  });
  done.wait();
}

TEST(ThreadPoolTest, TasksOfOneThreadAreTakenInOrder) {
  std::vector<int> order;
  {
    ThreadPool pool(1);
    pool.Post([&] {
      for (int i = 0; i < 100; ++i) pool.Post([&order, i] { order.push_back(i); });
    });
  }
  ASSERT_EQ(order.size(), 100u);
  EXPECT_TRUE(std::ranges::is_sorted(order));
}

TEST(ThreadPoolTest, TimedTasksComeWhileAllThreadsAreBusyAndWhileNoneIs) {
  std::latch idle(1);
  std::atomic<bool> came{false};
  std::latch done(2);
  std::function<void()> again;
  ThreadPool pool(2);
  const auto start = std::chrono::steady_clock::now();
  pool.PostAt(start + 20ms, [&] { idle.count_down(); });
  idle.wait();
  EXPECT_GE(std::chrono::steady_clock::now() - start, 20ms);

  again = [&] {
    if (came) return done.count_down();
    pool.Post(again);
  };
  for (int i = 0; i < 2; ++i) pool.Post(again);
  pool.PostAt(std::chrono::steady_clock::now() + 5ms, [&] { came = true; });
  done.wait();
}

TEST(ThreadPoolTest, ATimedTaskThatIsForgottenNeverComes) {
  std::atomic<bool> came{false};
  std::latch later(1);
  ThreadPool pool(1);
  const auto soon = std::chrono::steady_clock::now() + 5ms;
  pool.Forget(pool.PostAt(soon, [&] { came = true; }));
  pool.PostAt(soon + 5ms, [&] { later.count_down(); });
  later.wait();
  EXPECT_FALSE(came);
}

TEST(ThreadPoolTest, AThreadThatWaitsHelpsUntilItIsWoken) {
  std::atomic<int> helped{0};
  std::atomic<bool> ready{false};
  std::latch done(1);
  ThreadPool pool(1);
  pool.Post([&] {
    for (int i = 0; i < 10; ++i) pool.Post([&] { ++helped; });
    pool.HelpUntil([&] { return ready.load(); });
    done.count_down();
  });
  while (helped < 10) std::this_thread::yield();
  ready = true;
  pool.Wake();
  done.wait();
}

// How many threads operators have in a task of the pool, each of which waits for as many at once.
std::multiset<int> Shares(ThreadPool& pool, int at_once) {
  struct Tasks {
    explicit Tasks(int count) : begun(count), ended(count) {}
    std::latch begun, ended;
    std::mutex mutex;
    std::multiset<int> shares;
  };
  // Shared with tasks that are still on their way out.
  const auto tasks = std::make_shared<Tasks>(at_once);
  for (int i = 0; i < at_once; ++i) {
    pool.Post([&pool, tasks] {
      tasks->begun.arrive_and_wait();
      pool.ShareProcessors();
      {
        const std::lock_guard lock(tasks->mutex);
        tasks->shares.insert(at::get_num_threads());
      }
      tasks->ended.arrive_and_wait();
    });
  }
  tasks->ended.wait();
  return tasks->shares;
}

class SharingTest : public testing::Test {
 protected:
  void SetUp() override { at::set_num_threads(16); }
  void TearDown() override { at::set_num_threads(before_); }

  const int before_ = at::get_num_threads();
};

TEST_F(SharingTest, OperatorsOfOneRunHaveAllThreadsAndThoseOfManyHaveOneEach) {
  ThreadPool pool(16);
  EXPECT_EQ(pool.OperatorThreads(), (std::vector<int>{16, 4, 1}));
  EXPECT_EQ(Shares(pool, 16), std::multiset<int>({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
}

TEST_F(SharingTest, ANumberThatWasGivenStays) {
  ThreadPool pool(3, 2);
  EXPECT_EQ(pool.OperatorThreads(), std::vector<int>{2});
  EXPECT_EQ(Shares(pool, 1), std::multiset<int>{2});
  EXPECT_EQ(Shares(pool, 3), std::multiset<int>({2, 2, 2}));
}

TORCH_LIBRARY(hearth_thread_pool_test, m) {
  m.def("threads(int unused) -> int", [](int64_t) { return static_cast<int64_t>(at::get_num_threads()); });
}

TEST_F(SharingTest, ARunGivesThreadsUpWhenAnotherOneComes) {
  // The loop goes on until its operators have another number of threads than at first.
  const auto code = Compile(R"(graph(%n : int):
  %many : int = prim::Constant[value=1000000000]()
  %true : bool = prim::Constant[value=True]()
  %last : int = prim::Loop(%many, %true, %n)
    block0(%i : int, %before : int):
      %now : int = hearth_thread_pool_test::threads(%n)
      %same : bool = aten::eq.int(%now, %n)
      -> (%same, %now)
  return (%last)
)");
  std::latch begun(1);
  std::latch done(1);
  int64_t last = 0;
  ThreadPool pool(2);
  RunOptions options;
  options.pool = &pool;
  options.token = std::make_shared<CancellationToken>();
  options.on_start = [&] { begun.count_down(); };
  RunAsync(code, {16}, options, [&](c10::IValue value, std::exception_ptr) {
    last = value.toInt();
    done.count_down();
  });
  begun.wait();
  pool.Post([&] { done.wait(); });
  done.wait();
  EXPECT_EQ(last, 4);
}

}  // namespace
}  // namespace hearth
