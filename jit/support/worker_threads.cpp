#include "jit/support/worker_threads.h"

#include <pthread.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <thread>

#include "jit/support/operator_threads.h"

namespace hearth {
namespace {

using Clock = std::chrono::steady_clock;

// Turns of a wait between two looks at the clock.
constexpr int kTurns = 64;

thread_local bool at_work = false;

// Waits until `done` without sleeping, so long at most; whether it is done. Lets others have the processor now and
// then: one that was put onto the same one may be just who is waited for.
template <typename Done>
bool WaitAwake(Clock::duration most, const Done& done) {
  if (done()) return true;
  if (most == Clock::duration()) return false;
  const Clock::time_point begin = Clock::now();
  do {
    for (int turn = 0; turn < kTurns; ++turn) {
      if (done()) return true;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
    std::this_thread::yield();
  } while (Clock::now() - begin < most);
  return false;
}

// How long to stay awake after work that took so long: who did a share of it waits for the others' shares, too, which
// seldom take more than as long again.
Clock::duration AwakeAfter(Clock::duration work) {
  return std::min<Clock::duration>(WorkerThreads::kAwake + work, WorkerThreads::kMostAwake);
}

// Whether one piece of work follows another at once on the calling thread: what was so twice running will be so again.
class Rhythm {
 public:
  bool IsQuick() const { return score_ >= 2; }
  void Begin() {
    score_ = Clock::now() - ended_ < WorkerThreads::kAwake ? std::min(score_ + 1, 3) : std::max(score_ - 1, 0);
  }
  void End() { ended_ = Clock::now(); }

 private:
  Clock::time_point ended_;
  int score_ = 0;
};

thread_local Rhythm rhythm;

}  // namespace

// On the stack of who calls, who leaves when no thread is at it any more.
struct WorkerThreads::Call {
  const c10::function_ref<void(int)> work;
  const bool stay_awake;
  // Who are to be woken, and how many these are once that is known: threads that are awake may be at the call before.
  Workers sleepers{};
  std::atomic<size_t> sleeper_count{0};
  std::atomic<size_t> next_sleeper{0};

  void WakeTwo();
};

struct alignas(64) WorkerThreads::Worker {
  enum State : uint32_t {
    kIdle,
    kCalled,   // `call` is what it may begin; who changes this first, the thread or its caller, decides whether it does
    kWorking,  // at `call`
    kAwaited,  // the same, and its caller sleeps until it has ended
  };
  std::atomic<uint32_t> state{kIdle};
  Call* call = nullptr;
  int number = 0;  // for the call
  // 1 from before the thread looks at `state` for the last time before it sleeps. A line of its own, since callers look
  // at it each time and it seldom changes.
  alignas(64) std::atomic<uint32_t> asleep{0};

  // Whether the thread begins what it was called for.
  bool Begin() {
    uint32_t expected = kCalled;
    return state.load(std::memory_order_relaxed) == kCalled && state.compare_exchange_strong(expected, kWorking);
  }
  void End() {
    if (state.exchange(kIdle) == kAwaited) state.notify_one();
  }
  // Of the caller, whose own share took so long: returns when the thread is not at the call and will not begin it.
  void TakeBack(Clock::duration share) {
    uint32_t expected = kCalled;
    const uint32_t now = state.load(std::memory_order_acquire);
    if (now == kIdle || (now == kCalled && state.compare_exchange_strong(expected, kIdle))) return;
    if (WaitAwake(AwakeAfter(share), [&] { return state.load(std::memory_order_acquire) == kIdle; })) return;
    expected = kWorking;
    if (state.compare_exchange_strong(expected, kAwaited)) state.wait(kAwaited);
  }
};

// Each thread that was woken wakes two more, so the last of sixteen is called after four times one's waking.
void WorkerThreads::Call::WakeTwo() {
  const size_t count = sleeper_count.load(std::memory_order_acquire);
  for (int woken = 0; woken < 2 && next_sleeper.load(std::memory_order_relaxed) < count; ++woken) {
    const size_t i = next_sleeper.fetch_add(1, std::memory_order_relaxed);
    if (i >= count) return;
    std::atomic<uint32_t>& asleep = sleepers[i]->asleep;
    if (asleep.exchange(0) == 1) asleep.notify_one();
  }
}

WorkerThreads& WorkerThreads::Get() {
  static auto* const threads = new WorkerThreads();
  return *threads;
}

bool WorkerThreads::AtWork() { return at_work; }

WorkerThreads::Workers WorkerThreads::Take(size_t count) {
  const std::lock_guard lock(mutex_);
  most_ = std::max(most_, count);
  while (idle_.size() < count && all_.size() < most_) {
    auto worker = std::make_unique<Worker>();
    try {
      std::thread([&self = *worker, name = "hearth-work-" + std::to_string(all_.size())] {
        pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
        UseThisThreadOnly();
        Work(self);
      }).detach();
    } catch (const std::system_error&) {
      break;
    }
    idle_.insert(idle_.begin(), worker.get());
    all_.push_back(std::move(worker));
  }
  const auto taken = static_cast<std::ptrdiff_t>(std::min(count, idle_.size()));
  Workers workers(idle_.end() - taken, idle_.end());
  idle_.erase(idle_.end() - taken, idle_.end());
  return workers;
}

void WorkerThreads::GiveBack(const Workers& workers) {
  const std::lock_guard lock(mutex_);
  idle_.insert(idle_.end(), workers.begin(), workers.end());
}

void WorkerThreads::Run(int others, bool worth_waking, c10::function_ref<void(int)> work) {
  rhythm.Begin();
  const Workers workers = Take(static_cast<size_t>(std::max(others, 0)));
  Call call{work, rhythm.IsQuick()};
  if (worth_waking) call.sleepers.resize(workers.size());
  auto number = static_cast<int>(workers.size());
  for (Worker* worker : workers) {
    worker->call = &call;
    worker->number = number--;
    worker->state.store(Worker::kCalled, std::memory_order_release);
  }
  if (worth_waking) {
    // Who calls writes `state` first and looks then whether the thread is asleep; there it is the other way round.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    size_t count = 0;
    for (Worker* worker : workers) {
      if (worker->asleep.load(std::memory_order_relaxed) == 1) call.sleepers[count++] = worker;
    }
    call.sleeper_count.store(count, std::memory_order_release);
    call.WakeTwo();
  }
  at_work = true;
  const Clock::time_point begin = Clock::now();
  work(0);
  const Clock::duration share = Clock::now() - begin;
  at_work = false;
  for (Worker* worker : workers) worker->TakeBack(share);
  GiveBack(workers);
  rhythm.End();
}

void WorkerThreads::Work(Worker& self) {
  at_work = true;
  Clock::duration awake{};
  for (;;) {
    if (!WaitAwake(awake, [&] { return self.Begin(); })) {
      self.asleep.store(1, std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_seq_cst);
      if (self.state.load(std::memory_order_relaxed) != Worker::kCalled) self.asleep.wait(1);
      self.asleep.store(0);
      awake = {};
      continue;
    }
    Call& call = *self.call;
    call.WakeTwo();
    const Clock::time_point begin = Clock::now();
    call.work(self.number);
    awake = call.stay_awake ? AwakeAfter(Clock::now() - begin) : Clock::duration();
    self.End();
  }
}

}  // namespace hearth
