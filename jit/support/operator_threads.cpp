#include "jit/support/operator_threads.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>

#include "jit/support/openmp.h"
#include "jit/support/processors.h"

namespace hearth {
namespace {

// MKL's: the number of threads for the calling thread's products, 0 for as many as there are elsewhere; gives the one
// before. Null where there is no MKL.
auto* SetMklThreads() {
  static auto* const set = FindInProcess<int(int)>("MKL_Set_Num_Threads_Local");
  return set;
}

// The calling thread's operators' before OneOperatorThread; 0 where there is none.
thread_local int kept_threads = 0;

struct Region {
  int count;
  const std::function<void()>* work;
  std::exception_ptr error;

  static void Enter(void* self) {
    if (OpenMp::Get().thread_number() == 0) static_cast<Region*>(self)->Work();
  }

  void Work() {
    OpenMp::Get().set_num_threads(count);  // of this region
    try {
      (*work)();
    } catch (...) {
      error = std::current_exception();
    }
  }
};

[[noreturn]] void SleepForEver() {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  for (;;) never.wait(lock);
}

}  // namespace

void LetIdleTeamsSleep() {
  const OpenMp& openmp = OpenMp::Get();
  if (openmp.parallel == nullptr || openmp.processors == nullptr) return;
  [[maybe_unused]] static const bool done = [&] {
    std::mutex mutex;
    std::condition_variable changed;
    bool made = false;
    std::thread([&] {
      openmp.parallel([](void*) {}, nullptr, static_cast<unsigned>(openmp.processors()) + 1, 0);
      {
        const std::lock_guard lock(mutex);
        made = true;
        changed.notify_one();
      }
      SleepForEver();
    }).detach();
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return made; });
    return true;
  }();
}

void KeepOperatorsToTheQuota() {
  if (std::getenv("OMP_NUM_THREADS") != nullptr) return;
  const int usable = UsableProcessors();
  if (usable < at::get_num_threads()) at::set_num_threads(usable);
}

std::vector<int> OperatorThreadCounts(int all) {
  std::vector<int> counts;
  for (int count = all; count > 1; count /= 4) counts.push_back(count);
  counts.push_back(1);
  return counts;
}

OperatorTeam::OperatorTeam()
    : all_(at::get_num_threads()), counts_(OperatorThreadCounts(all_)), threads_(all_), team_(all_) {}

void OperatorTeam::ShareWith(int runs) {
  if (runs == runs_) return;
  const auto fits = std::ranges::find_if(counts_, [&](int count) { return count * runs <= all_; });
  int wanted = fits != counts_.end() ? *fits : 1;
  if (wanted != threads_ && wanted > 1) {
    const Clock::time_point now = Clock::now();
    if (wanted < team_) {
      made_smaller_ = now;
    } else if (wanted > team_ && now - made_smaller_ < kHold) {
      // Asks again at the next chance.
      Use(team_);
      runs_ = 0;
      return;
    }
  }
  Use(wanted);
  runs_ = runs;
}

void OperatorTeam::Use(int threads) {
  runs_ = 0;
  if (threads == threads_ || OpenMp::Get().set_num_threads == nullptr) return;
  OpenMp::Get().set_num_threads(threads);
  // Else MKL has the number that somebody may have set for all threads.
  if (SetMklThreads() != nullptr) SetMklThreads()(threads);
  threads_ = threads;
  if (threads > 1) team_ = threads;
}

void UseThisThreadOnly() {
  at::get_num_threads();  // sets the default, at the first call
  // LibTorch's own call sets the number for all threads that begin later.
  if (OpenMp::Get().set_num_threads != nullptr) OpenMp::Get().set_num_threads(1);
}

void AsIfOnThreads(int count, const std::function<void()>& work) {
  const OpenMp& openmp = OpenMp::Get();
  const bool can = openmp.set_num_threads != nullptr && openmp.thread_number != nullptr && openmp.parallel != nullptr;
  if (!can || at::get_num_threads() == count) return work();
  Region region{count, &work, nullptr};
  openmp.parallel(Region::Enter, &region, 2, 0);
  if (region.error != nullptr) std::rethrow_exception(region.error);
}

int OperatorThreads() { return kept_threads > 0 ? kept_threads : at::get_num_threads(); }

OneOperatorThread::OneOperatorThread() : before_(at::get_num_threads()), kept_before_(kept_threads) {
  kept_threads = OperatorThreads();
  if (OpenMp::Get().set_num_threads != nullptr) OpenMp::Get().set_num_threads(1);
}

OneOperatorThread::~OneOperatorThread() {
  kept_threads = kept_before_;
  if (OpenMp::Get().set_num_threads != nullptr) OpenMp::Get().set_num_threads(before_);
}

OneBlasThread::OneBlasThread(bool wanted) : wanted_(wanted && SetMklThreads() != nullptr) {
  if (wanted_) before_ = SetMklThreads()(1);
}

OneBlasThread::~OneBlasThread() {
  if (wanted_) SetMklThreads()(before_);
}

}  // namespace hearth
