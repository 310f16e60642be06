// How many threads work inside of an operator that a thread calls. LibTorch's operators and the libraries below them
// share the work by OpenMP, whose number of threads is the calling thread's own; the threads that it starts for it have
// the priority that it has then.
//
// OpenMP is looked for where LibTorch brought it (openmp.h), and MKL in it. Without them nothing changes.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

namespace hearth {

// From now on, for as long as the process lives, threads of OpenMP that have nothing to do sleep at once instead of
// spinning for milliseconds on a processor that another run could use. Call it before models run; later calls do
// nothing.
//
// How: libgomp reads its environment (OMP_WAIT_POLICY) when it is loaded, before main. But where there are more OpenMP
// threads than processors it spins for a hundred turns only (its manual, GOMP_SPINCOUNT). So there are: a team of one
// more thread than there are processors, which sleeps for ever.
void LetIdleTeamsSleep();

// Operators of threads that begin later have no more threads than UsableProcessors, unless OMP_NUM_THREADS says how
// many: LibTorch by itself knows of no quota of processor time. Call it before models run.
void KeepOperatorsToTheQuota();

// The numbers of threads that operators of one run may have, of `all`: all of them, a quarter, a sixteenth, and so on
// down to one. Few, for libraries prepare code for each number.
std::vector<int> OperatorThreadCounts(int all);

// The calling thread's operators, beside those of runs on other threads: all of its threads for the only run, so few
// where there are several that they do not have more than there are together.
class OperatorTeam {
 public:
  using Clock = std::chrono::steady_clock;
  // A team that became smaller does not become larger again within this time: its threads would end and start with
  // every run that comes and goes beside it. (One thread is no team, and leaves the team as it was.)
  static constexpr std::chrono::milliseconds kHold{100};

  // For the calling thread, which alone uses this, and whose number of threads this is the most that it has.
  OperatorTeam();
  // As one of `runs` at once.
  void ShareWith(int runs);
  // So many, one of OperatorThreadCounts, until ShareWith is called with another number of runs.
  void Use(int threads);
  int all() const { return all_; }

 private:
  const int all_;
  const std::vector<int> counts_;
  int runs_ = 1;  // ShareWith's last
  int threads_;   // the thread's number now
  int team_;      // the last number above one: so many threads OpenMP has for this one
  Clock::time_point made_smaller_{};
};

// The calling thread's operators run on it alone from now on.
void UseThisThreadOnly();

// Runs `work`, in which operators ask libraries for what suits `count` threads (which format a weight should have) and
// yet run on this thread alone: so its own clock shows all that was done, and nothing waits for others. Where this
// thread has that many anyway, they are used. Throws what `work` throws.
//
// How: a parallel region in which one thread works and another one sleeps; regions within it have one thread each.
void AsIfOnThreads(int count, const std::function<void()>& work);

// While it lives, products of matrices that the calling thread asks LibTorch's BLAS for run on it alone: for small
// ones, which are done before other threads have woken. No difference where that library is not MKL, whose number of
// threads this is.
class OneBlasThread {
 public:
  // Does nothing if it is not `wanted`.
  explicit OneBlasThread(bool wanted = true);
  ~OneBlasThread();
  OneBlasThread(const OneBlasThread&) = delete;
  OneBlasThread& operator=(const OneBlasThread&) = delete;

 private:
  const bool wanted_;
  int before_ = 0;
};

// The threads that the calling thread's operators have, also while OneOperatorThread lives: what does not share its
// work by OpenMP has them then.
int OperatorThreads();

// While it lives, operators of LibTorch and of libraries that the calling thread calls run on it alone.
class OneOperatorThread {
 public:
  OneOperatorThread();
  ~OneOperatorThread();
  OneOperatorThread(const OneOperatorThread&) = delete;
  OneOperatorThread& operator=(const OneOperatorThread&) = delete;

 private:
  const int before_;
  const int kept_before_;
  const OneBlasThread blas_;
};

}  // namespace hearth
