#include "jit/interpreter/thread_pool.h"

#include <ATen/Parallel.h>
#include <pthread.h>
#include <sched.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace hearth {
namespace {

thread_local const void* pool_of_this_thread = nullptr;

int AllowedProcessors() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
    return static_cast<int>(std::thread::hardware_concurrency());
  return CPU_COUNT(&allowed);
}

}  // namespace

struct ThreadPool::Impl {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks;
  bool closing = false;
  std::vector<std::thread> threads;

  void Work(int number) {
    pthread_setname_np(pthread_self(), ("hearth-run-" + std::to_string(number)).c_str());
    pool_of_this_thread = this;
    // LibTorch's own parallel regions are set up once for each thread that starts them.
    at::init_num_threads();
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return closing || !tasks.empty(); });
      if (tasks.empty()) return;
      RunOne(lock);
    }
  }

  void RunOne(std::unique_lock<std::mutex>& lock) {
    std::function<void()> task = std::move(tasks.front());
    tasks.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
};

ThreadPool::ThreadPool(int threads) : impl_(std::make_unique<Impl>()) {
  const int count = threads > 0 ? threads : std::max(1, AllowedProcessors());
  for (int i = 0; i < count; ++i) impl_->threads.emplace_back([impl = impl_.get(), i] { impl->Work(i); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(impl_->mutex);
    impl_->closing = true;
  }
  impl_->changed.notify_all();
  for (std::thread& thread : impl_->threads) thread.join();
}

void ThreadPool::Post(std::function<void()> task) {
  {
    std::lock_guard lock(impl_->mutex);
    impl_->tasks.push_back(std::move(task));
  }
  impl_->changed.notify_one();
}

int ThreadPool::size() const { return static_cast<int>(impl_->threads.size()); }

bool ThreadPool::OnOwnThread() const { return pool_of_this_thread == impl_.get(); }

void ThreadPool::HelpUntil(const std::function<bool()>& done) {
  std::unique_lock lock(impl_->mutex);
  for (;;) {
    if (done()) {
      // The notification that woke this thread may have been for a task.
      if (!impl_->tasks.empty()) impl_->changed.notify_one();
      return;
    }
    if (impl_->tasks.empty()) {
      impl_->changed.wait(lock);
    } else {
      impl_->RunOne(lock);
    }
  }
}

void ThreadPool::Wake() {
  // Taken so that nobody is between asking and sleeping.
  { std::lock_guard lock(impl_->mutex); }
  impl_->changed.notify_all();
}

}  // namespace hearth
