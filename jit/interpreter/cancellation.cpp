#include "jit/interpreter/cancellation.h"

#include <utility>

#include "jit/support/errors.h"

namespace hearth {

void CancellationToken::Cancel() {
  cancelled_.store(true);
  std::function<void()> wake;
  {
    std::lock_guard lock(mutex_);
    wake = wake_;
  }
  if (wake) wake();
}

void CancellationToken::SetWaker(std::function<void()> wake) {
  std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
}

void CancellationToken::SetDeadline(Clock::time_point deadline) {
  deadline_.store(deadline.time_since_epoch().count(), std::memory_order_relaxed);
}

void CancellationToken::LimitRun(std::chrono::nanoseconds time) {
  const Clock::time_point end = Clock::now() + time;
  if (deadline().value_or(Clock::time_point::max()) <= end) return;
  limited_.store(true, std::memory_order_relaxed);
  SetDeadline(end);
}

std::optional<CancellationToken::Clock::time_point> CancellationToken::deadline() const {
  const int64_t ticks = deadline_.load(std::memory_order_relaxed);
  if (ticks == kNever) return std::nullopt;
  return Clock::time_point(Clock::duration(ticks));
}

bool CancellationToken::DeadlinePassed() const {
  const int64_t ticks = deadline_.load(std::memory_order_relaxed);
  return ticks != kNever && Clock::now().time_since_epoch().count() >= ticks;
}

void CancellationToken::Check() const {
  if (cancelled()) throw CancelledError(CancelledError::Reason::kCancelled);
  if (DeadlinePassed()) throw CancelledError(CancelledError::Reason::kDeadline);
}

}  // namespace hearth
