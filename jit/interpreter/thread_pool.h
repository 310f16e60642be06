// The threads that interpreters run on, and how the operators that they call share the processors. Thread-safe.
//
// Where a thread sleeps, a task goes to the one that was busy last. Else it waits in a queue, of which there are as
// many as threads, so that they do not wait for each other's locks: a thread posts to its own, takes from its own
// first, and then from the others'. Each queue is in order, and one time in sixteen a thread looks at another one
// first, so none is left to wait for ever.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace hearth {

class ThreadPool {
 public:
  // kLow: as TakeLowPriority has it (support/background_thread.h).
  enum class Priority : uint8_t { kUsual, kLow };

  // 0 threads: UsableProcessors. `operator_threads`: how many each operator has that they call; 0: as ShareProcessors
  // says.
  explicit ThreadPool(int threads, int operator_threads = 0, Priority priority = Priority::kUsual);
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

  // Gives the operators of the calling thread, if it is the pool's, their share of the processors: as OperatorTeam says
  // for as many runs as threads of the pool are busy. Cheap: a run calls it again and again.
  void ShareProcessors();
  // So many threads instead, until ShareProcessors is called.
  void UseOperatorThreads(int threads);
  // The numbers of threads that operators may have.
  std::vector<int> OperatorThreads() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hearth
