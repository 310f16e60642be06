#include "server/http/loop_threads.h"

#include <utility>

namespace hearth::server {
namespace {

constexpr std::chrono::milliseconds kPatience{1};
// Between two looks at the loan.
constexpr std::chrono::milliseconds kInterval{1};
// So many without a new loan, and the watcher sleeps.
constexpr int kIdleIntervals = 50;

}  // namespace

void LoopThreads::Start(std::function<bool()> carry) {
  carry_ = std::move(carry);
  for (int number = 0; number < 2; ++number) {
    threads_[static_cast<size_t>(number)] = std::thread([this, number] { Run(number); });
  }
}

void LoopThreads::Join() {
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

uint64_t LoopThreads::Lend(Clock::time_point now, std::function<void()> go_on) {
  const uint64_t loan = loans_.load(std::memory_order_relaxed) + 1;
  loans_.store(loan, std::memory_order_relaxed);
  go_on_ = std::move(go_on);
  lent_at_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  loan_.store(loan);
  if (asleep_.load()) {
    {
      const std::lock_guard lock(mutex_);
      asleep_ = false;
    }
    changed_.notify_one();
  }
  return loan;
}

bool LoopThreads::TakeBack(uint64_t loan) {
  if (!loan_.compare_exchange_strong(loan, 0)) return false;
  go_on_ = nullptr;
  return true;
}

void LoopThreads::Run(int number) {
  while (true) {
    if (carrier_.load() == number) {
      Carry(number);
    } else if (!Watch(number)) {
      return;
    }
    const std::lock_guard lock(mutex_);
    if (ended_) return;
  }
}

void LoopThreads::Carry(int number) {
  while (carrier_.load(std::memory_order_relaxed) == number) {
    if (!carry_()) return End();
  }
}

void LoopThreads::End() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_one();
}

bool LoopThreads::Watch(int number) {
  std::unique_lock lock(mutex_);
  watched_ = true;
  uint64_t seen = 0;
  int idle = 0;
  while (!ended_) {
    if (idle >= kIdleIntervals) {
      asleep_ = true;
      if (loan_.load() == 0) changed_.wait(lock, [this] { return ended_ || !asleep_; });
      asleep_ = false;
      idle = 0;
    } else {
      changed_.wait_for(lock, kInterval);
    }
    idle = loans_.load(std::memory_order_relaxed) == seen ? idle + 1 : 0;
    seen = loans_.load(std::memory_order_relaxed);
    uint64_t loan = loan_.load();
    if (loan == 0) continue;
    idle = 0;
    const Clock::time_point since{Clock::duration(lent_at_.load(std::memory_order_relaxed))};
    if (Clock::now() - since < kPatience || !loan_.compare_exchange_strong(loan, 0)) continue;
    watched_ = false;
    carrier_ = number;
    lock.unlock();
    const std::function<void()> go_on = std::move(go_on_);
    go_on();
    return true;
  }
  return false;
}

}  // namespace hearth::server
