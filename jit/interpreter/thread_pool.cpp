#include "jit/interpreter/thread_pool.h"

#include <ATen/Parallel.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "jit/support/background_thread.h"
#include "jit/support/large_stack.h"
#include "jit/support/operator_threads.h"
#include "jit/support/processors.h"
#include "jit/support/thread_number.h"

namespace hearth {
namespace {

using Clock = std::chrono::steady_clock;
using Task = std::function<void()>;

// How often a thread looks at another's queue before its own.
constexpr uint32_t kOthersFirst = 16;

// One for each thread of a pool.
struct alignas(64) Queue {
  std::mutex mutex;
  std::deque<Task> tasks;
  std::atomic<size_t> size{0};  // of `tasks`, for who only looks

  void Push(Task task) {
    const std::lock_guard lock(mutex);
    tasks.push_back(std::move(task));
    size.store(tasks.size());
  }
  // Empty if there is none.
  Task Take() {
    if (size.load(std::memory_order_relaxed) == 0) return nullptr;
    const std::lock_guard lock(mutex);
    if (tasks.empty()) return nullptr;
    Task task = std::move(tasks.front());
    tasks.pop_front();
    size.store(tasks.size(), std::memory_order_relaxed);
    return task;
  }
};

// A thread of a pool's. While it sleeps it is one of Impl::sleepers, until it is called.
struct alignas(64) Worker {
  size_t number = 0;
  uint32_t taken = 0;  // from queues
  std::optional<OperatorTeam> team;
  // Under the pool's lock:
  std::condition_variable changed;
  bool called = false;
  Task task;  // what it was called for; empty: to look around
};

thread_local const void* pool_of_this_thread = nullptr;
thread_local Worker* this_worker = nullptr;

}  // namespace

struct ThreadPool::Impl {
  Impl(int count, int operator_threads, Priority priority)
      : operator_threads(operator_threads),
        priority(priority),
        queues(static_cast<size_t>(count)),
        workers(static_cast<size_t>(count)) {
    for (size_t i = 0; i < workers.size(); ++i) workers[i].number = i;
  }

  const int operator_threads;  // 0: they share the processors
  const Priority priority;
  std::vector<Queue> queues;
  std::vector<Worker> workers;
  // How many of `sleepers` there are. Whoever posts looks at it after his task is in a queue, and whoever falls asleep
  // at the queues' sizes after he is counted here, all in sequentially consistent order: one of them sees the other.
  alignas(64) std::atomic<size_t> sleeping{0};
  std::atomic<bool> has_timed{false};  // whether `timed` has any

  alignas(64) std::mutex mutex;   // of all that follows, and of what workers say it is
  std::condition_variable woken;  // for the sleepers that are not the pool's threads
  // The one that fell asleep last is called first: its caches are warm, and so is what LibTorch's kernels keep for each
  // thread that calls them (teams of threads, scratch memory), which the others then need not have.
  std::vector<Worker*> sleepers;
  std::map<Timed, Task> timed;
  uint64_t next_timed = 0;
  bool closing = false;
  std::vector<std::unique_ptr<LargeStackThread>> threads;

  void Work(size_t number) {
    const bool low = priority == Priority::kLow;
    pthread_setname_np(pthread_self(), ((low ? "hearth-warm-" : "hearth-run-") + std::to_string(number)).c_str());
    if (low) TakeLowPriority();
    pool_of_this_thread = this;
    this_worker = &workers[number];
    // LibTorch's own parallel regions are set up once for each thread that starts them.
    at::init_num_threads();
    this_worker->team.emplace();
    if (operator_threads > 0) this_worker->team->Use(operator_threads);
    for (;;) {
      if (Task task = Next()) {
        Run(std::move(task));
        continue;
      }
      std::unique_lock lock(mutex);
      if (AnyQueued()) continue;
      if (closing) return;
      Task task = Sleep(lock);
      lock.unlock();
      if (task) Run(std::move(task));
    }
  }

  // What this thread is to do next; empty if there is nothing.
  Task Next() {
    if (has_timed.load(std::memory_order_relaxed)) {
      if (Task due = TakeDue()) return due;
    }
    Worker& worker = *this_worker;
    const size_t count = queues.size();
    const uint32_t number = ++worker.taken;
    const size_t first = number % kOthersFirst == 0 ? number / kOthersFirst : worker.number;
    for (size_t i = 0; i < count; ++i) {
      if (Task task = queues[(first + i) % count].Take()) return task;
    }
    return nullptr;
  }

  bool AnyQueued() const {
    return std::ranges::any_of(queues, [](const Queue& queue) { return queue.size.load() != 0; });
  }

  // Until something changes or a timed task is due. Gives what the thread was called for.
  Task Sleep(std::unique_lock<std::mutex>& lock) {
    Worker& worker = *this_worker;
    worker.called = false;
    sleepers.push_back(&worker);
    sleeping.store(sleepers.size());
    const auto called = [&] { return worker.called; };
    if (AnyQueued()) {
      Leave(worker);
    } else if (timed.empty()) {
      worker.changed.wait(lock, called);
    } else {
      // A copy: the task may be gone when the wait ends.
      const Clock::time_point until = timed.begin()->first.first;
      if (!worker.changed.wait_until(lock, until, called)) Leave(worker);
    }
    return std::exchange(worker.task, nullptr);
  }

  // These with the lock held.
  void Leave(Worker& worker) {
    std::erase(sleepers, &worker);
    sleeping.store(sleepers.size());
  }
  // The worker that is returned, unless it is null, must be notified.
  Worker* TakeSleeper() {
    if (sleepers.empty()) return nullptr;
    Worker* worker = sleepers.back();
    sleepers.pop_back();
    sleeping.store(sleepers.size());
    worker->called = true;
    return worker;
  }
  void CallOne() {
    if (Worker* worker = TakeSleeper()) worker->changed.notify_one();
  }
  void CallAll() {
    while (!sleepers.empty()) CallOne();
  }

  // Timed tasks whose time has come go before the others, which are no later for it.
  Task TakeDue() {
    const std::lock_guard lock(mutex);
    if (timed.empty() || timed.begin()->first.first > Clock::now()) return nullptr;
    Task task = std::move(timed.begin()->second);
    timed.erase(timed.begin());
    has_timed.store(!timed.empty(), std::memory_order_relaxed);
    return task;
  }

  void Run(Task task) {
    // Another thread keeps the time meanwhile.
    if (has_timed.load(std::memory_order_relaxed) && sleeping.load(std::memory_order_relaxed) > 0) {
      const std::lock_guard lock(mutex);
      if (!timed.empty()) CallOne();
    }
    task();
    task = nullptr;
    TrimStack();
  }
};

ThreadPool::ThreadPool(int threads, int operator_threads, Priority priority)
    : impl_(std::make_unique<Impl>(threads > 0 ? threads : UsableProcessors(), operator_threads, priority)) {
  for (size_t i = 0; i < impl_->workers.size(); ++i) {
    impl_->threads.push_back(std::make_unique<LargeStackThread>([impl = impl_.get(), i] { impl->Work(i); }));
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(impl_->mutex);
    impl_->closing = true;
    impl_->CallAll();
  }
  impl_->threads.clear();
}

void ThreadPool::Post(std::function<void()> task) {
  Impl& impl = *impl_;
  const bool handed_over = [&] {
    if (impl.sleeping.load(std::memory_order_relaxed) == 0) return false;
    Worker* worker;
    {
      const std::lock_guard lock(impl.mutex);
      worker = impl.TakeSleeper();
      if (worker == nullptr) return false;
      worker->task = std::move(task);
    }
    worker->changed.notify_one();
    return true;
  }();
  if (handed_over) return;
  const size_t number = OnOwnThread() ? this_worker->number : NumberOfThread<ThreadPool>() % impl.queues.size();
  impl.queues[number].Push(std::move(task));
  if (impl.sleeping.load() == 0) return;
  const std::lock_guard lock(impl.mutex);
  impl.CallOne();
}

ThreadPool::Timed ThreadPool::PostAt(Clock::time_point time, std::function<void()> task) {
  std::lock_guard lock(impl_->mutex);
  const Timed timed(time, impl_->next_timed++);
  impl_->timed.emplace(timed, std::move(task));
  impl_->has_timed.store(true, std::memory_order_relaxed);
  // One thread at least sleeps no longer than until then.
  impl_->CallOne();
  return timed;
}

void ThreadPool::Forget(const Timed& timed) {
  std::lock_guard lock(impl_->mutex);
  impl_->timed.erase(timed);
  impl_->has_timed.store(!impl_->timed.empty(), std::memory_order_relaxed);
}

int ThreadPool::size() const { return static_cast<int>(impl_->threads.size()); }

bool ThreadPool::OnOwnThread() const { return pool_of_this_thread == impl_.get(); }

void ThreadPool::HelpUntil(const std::function<bool()>& done) {
  Impl& impl = *impl_;
  for (;;) {
    std::unique_lock lock(impl.mutex);
    if (done()) {
      // The notification that woke this thread may have been for a task.
      if (impl.AnyQueued()) impl.CallOne();
      return;
    }
    lock.unlock();
    if (std::function<void()> task = impl.Next()) {
      impl.Run(std::move(task));
      continue;
    }
    lock.lock();
    if (done()) continue;
    std::function<void()> task = impl.Sleep(lock);
    lock.unlock();
    if (task) impl.Run(std::move(task));
  }
}

void ThreadPool::SleepUntil(const std::function<bool()>& done) {
  std::unique_lock lock(impl_->mutex);
  impl_->woken.wait(lock, done);
}

void ThreadPool::Wake() {
  {
    // Also so that nobody is between asking and sleeping.
    std::lock_guard lock(impl_->mutex);
    impl_->CallAll();
  }
  impl_->woken.notify_all();
}

void ThreadPool::ShareProcessors() {
  if (!OnOwnThread() || impl_->operator_threads > 0) return;
  const size_t busy = impl_->workers.size() - impl_->sleeping.load(std::memory_order_relaxed);
  this_worker->team->ShareWith(static_cast<int>(std::max<size_t>(1, busy)));
}

void ThreadPool::UseOperatorThreads(int threads) {
  if (OnOwnThread()) this_worker->team->Use(threads);
}

std::vector<int> ThreadPool::OperatorThreads() const {
  if (impl_->operator_threads > 0) return {impl_->operator_threads};
  return OperatorThreadCounts(at::get_num_threads());
}

}  // namespace hearth
