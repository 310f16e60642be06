// The threads that interpreters run on. Tasks are taken in order. Thread-safe.
#pragma once

#include <functional>
#include <memory>

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
  int size() const;

  // Whether the calling thread is one of this pool's.
  bool OnOwnThread() const;
  // For a task that has to wait: runs other tasks on this thread until `done`, which is asked after each one and
  // whenever Wake is called.
  void HelpUntil(const std::function<bool()>& done);
  void Wake();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hearth
