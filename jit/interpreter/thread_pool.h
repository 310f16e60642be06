// The threads that interpreters run on. Tasks are taken in order, by the thread that was busy last. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace hearth {

class ThreadPool {
 public:
  // 0 means one thread for each processor that this process may use.
  explicit ThreadPool(int threads);
  // Finishes what is queued, then joins.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // A task must not throw, and must not block waiting for another one (HelpUntil is for what cannot do otherwise).
  void Post(std::function<void()> task);
  // The same, not before `time`; forgotten if the pool ends before. The result names it, for Forget.
  using Timed = std::pair<std::chrono::steady_clock::time_point, uint64_t>;
  Timed PostAt(std::chrono::steady_clock::time_point time, std::function<void()> task);
  void Forget(const Timed& timed);
  int size() const;

  // Whether the calling thread is one of this pool's.
  bool OnOwnThread() const;
  // For a task that has to wait: runs other tasks on this thread until `done`, which is asked after each one and
  // whenever Wake is called.
  void HelpUntil(const std::function<bool()>& done);
  // For a thread that is not the pool's: sleeps until `done`, which is asked whenever Wake is called.
  void SleepUntil(const std::function<bool()>& done);
  void Wake();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hearth
