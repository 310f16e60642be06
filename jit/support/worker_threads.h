// Threads that take part in a piece of work for as long as it lasts: what ParallelFor (parallel_for.h) shares its
// pieces with. The process has them once, for all who call. They are not OpenMP's, because of two things that it cannot
// do:
//
// - Where one piece of work follows another at once, as in the run of a model, the threads stay awake in between, for
//   tens of microseconds and as long again as their last share took, and no longer. OpenMP's either sleep at once, and
//   have to be woken for each piece of work, or spin for milliseconds on processors that others could use
//   (LetIdleTeamsSleep).
// - Nobody waits for a thread that has not begun yet: who calls does what is left by himself.
#pragma once

#include <c10/util/FunctionRef.h>
#include <c10/util/SmallVector.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

namespace hearth {

class WorkerThreads {
 public:
  // How long a thread stays awake for the next piece of work where one follows another: so long beyond the time that
  // its share of the last one took, and at most so long in all.
  static constexpr std::chrono::microseconds kAwake{50}, kMostAwake{1000};

  // Those of the process; they are never joined.
  static WorkerThreads& Get();

  // Whether the calling thread is at work of Run's.
  static bool AtWork();

  // Calls `work` on the calling thread, and at the same time on up to `others` further ones: as many of those as are
  // idle and begin before the calling thread's call has ended. It is told the thread's number: 0 on the calling one, up
  // to `others` on the others, of which each has the same one as in the call before if nobody else calls. Threads that
  // sleep are woken if that is `worth_waking`; else those begin that are awake. `work` is what takes shares of a whole
  // until none is left; it must not throw, nor call Run. Any number of threads may call this at once. There are as many
  // threads as one caller has asked for at once, fewer where the system has no more.
  void Run(int others, bool worth_waking, c10::function_ref<void(int thread)> work);

 private:
  struct Call;
  struct Worker;

  using Workers = c10::SmallVector<Worker*, 16>;

  Workers Take(size_t count);
  void GiveBack(const Workers& workers);
  static void Work(Worker& self);

  std::mutex mutex_;
  std::vector<Worker*> idle_;  // in the order of their numbers, from the last one back
  std::vector<std::unique_ptr<Worker>> all_;
  size_t most_ = 0;  // that one caller has asked for
};

}  // namespace hearth
