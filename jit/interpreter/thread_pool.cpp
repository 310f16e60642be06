#include "jit/interpreter/thread_pool.h"

#include <ATen/Parallel.h>
#include <pthread.h>
#include <sched.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "jit/support/large_stack.h"

namespace hearth {
namespace {

using Clock = std::chrono::steady_clock;

// A thread of a pool's. While it sleeps it is one of Impl::sleepers, until it is called.
struct Worker {
  std::condition_variable changed;
  bool called = false;
};

thread_local const void* pool_of_this_thread = nullptr;
thread_local Worker* this_worker = nullptr;

int AllowedProcessors() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
    return static_cast<int>(std::thread::hardware_concurrency());
  return CPU_COUNT(&allowed);
}

}  // namespace

struct ThreadPool::Impl {
  std::mutex mutex;
  std::condition_variable woken;  // for the sleepers that are not the pool's threads
  std::vector<Worker> workers;
  // The one that fell asleep last is called first: its caches are warm, and so is what LibTorch's kernels keep for each
  // thread that calls them (teams of threads, scratch memory), which the others then need not have.
  std::vector<Worker*> sleepers;
  std::deque<std::function<void()>> tasks;
  std::map<Timed, std::function<void()>> timed;
  uint64_t next_timed = 0;
  bool closing = false;
  std::vector<std::unique_ptr<LargeStackThread>> threads;

  void Work(int number) {
    pthread_setname_np(pthread_self(), ("hearth-run-" + std::to_string(number)).c_str());
    pool_of_this_thread = this;
    this_worker = &workers[static_cast<size_t>(number)];
    // LibTorch's own parallel regions are set up once for each thread that starts them.
    at::init_num_threads();
    std::unique_lock lock(mutex);
    for (;;) {
      TakeDue();
      if (!tasks.empty()) {
        RunOne(lock);
      } else if (closing) {
        return;
      } else {
        Sleep(lock);
      }
    }
  }

  // Until something changes or a timed task is due.
  void Sleep(std::unique_lock<std::mutex>& lock) {
    Worker& worker = *this_worker;
    worker.called = false;
    sleepers.push_back(&worker);
    const auto called = [&] { return worker.called; };
    if (timed.empty()) {
      worker.changed.wait(lock, called);
      return;
    }
    // A copy: the task may be gone when the wait ends.
    const Clock::time_point until = timed.begin()->first.first;
    if (!worker.changed.wait_until(lock, until, called)) std::erase(sleepers, &worker);
  }

  // These with the lock held. The worker that is returned, unless it is null, must be notified.
  Worker* TakeSleeper() {
    if (sleepers.empty()) return nullptr;
    Worker* worker = sleepers.back();
    sleepers.pop_back();
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
  void TakeDue() {
    if (timed.empty() || timed.begin()->first.first > Clock::now()) return;
    tasks.push_front(std::move(timed.begin()->second));
    timed.erase(timed.begin());
  }

  void RunOne(std::unique_lock<std::mutex>& lock) {
    // Another thread keeps the time meanwhile.
    if (!timed.empty()) CallOne();
    std::function<void()> task = std::move(tasks.front());
    tasks.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    TrimStack();
    lock.lock();
  }
};

ThreadPool::ThreadPool(int threads) : impl_(std::make_unique<Impl>()) {
  const int count = threads > 0 ? threads : std::max(1, AllowedProcessors());
  impl_->workers = std::vector<Worker>(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
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
  Worker* worker;
  {
    std::lock_guard lock(impl_->mutex);
    impl_->tasks.push_back(std::move(task));
    worker = impl_->TakeSleeper();
  }
  if (worker != nullptr) worker->changed.notify_one();
}

ThreadPool::Timed ThreadPool::PostAt(Clock::time_point time, std::function<void()> task) {
  std::lock_guard lock(impl_->mutex);
  const Timed timed(time, impl_->next_timed++);
  impl_->timed.emplace(timed, std::move(task));
  // One thread at least sleeps no longer than until then.
  impl_->CallOne();
  return timed;
}

void ThreadPool::Forget(const Timed& timed) {
  std::lock_guard lock(impl_->mutex);
  impl_->timed.erase(timed);
}

int ThreadPool::size() const { return static_cast<int>(impl_->threads.size()); }

bool ThreadPool::OnOwnThread() const { return pool_of_this_thread == impl_.get(); }

void ThreadPool::HelpUntil(const std::function<bool()>& done) {
  std::unique_lock lock(impl_->mutex);
  for (;;) {
    impl_->TakeDue();
    if (done()) {
      // The notification that woke this thread may have been for a task.
      if (!impl_->tasks.empty()) impl_->CallOne();
      return;
    }
    if (impl_->tasks.empty()) {
      impl_->Sleep(lock);
    } else {
      impl_->RunOne(lock);
    }
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

}  // namespace hearth
