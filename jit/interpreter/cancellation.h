// How a run is told to stop: by somebody, or by the time. Asked at safepoints: between instructions now and then, at
// loop back-edges. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>

namespace hearth {

class CancellationToken {
 public:
  using Clock = std::chrono::steady_clock;

  void Cancel();
  void SetDeadline(Clock::time_point deadline);
  std::optional<Clock::time_point> deadline() const;
  // The run begins and may take so long: its deadline comes then, unless it is before that.
  void LimitRun(std::chrono::nanoseconds time);
  // Whether the deadline is LimitRun's.
  bool limited() const { return limited_.load(std::memory_order_relaxed); }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  // Whether it is cancelled or its deadline has passed.
  bool ShouldStop() const { return cancelled() || DeadlinePassed(); }
  // Throws CancelledError if the run should stop.
  void Check() const;

  // Called by Cancel, on its thread and after the token says so: for what sleeps and cannot ask. One at a time.
  void SetWaker(std::function<void()> wake);

 private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  bool DeadlinePassed() const;

  std::atomic<bool> cancelled_{false};
  std::atomic<int64_t> deadline_{kNever};  // of the clock's ticks
  std::atomic<bool> limited_{false};
  std::mutex mutex_;
  std::function<void()> wake_;
};

}  // namespace hearth
