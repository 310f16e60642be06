// The threads that interpreters run on. Tasks are taken in order; a task never blocks waiting for another one.
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

  void Post(std::function<void()> task);
  int size() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hearth
