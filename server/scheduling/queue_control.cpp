#include "server/scheduling/queue_control.h"

#include <algorithm>

namespace hearth::server {
namespace {

// What earlier departures count for beside the latest.
constexpr double kMemory = 15.0 / 16;
constexpr int kStandingShare = 10;

}  // namespace

void QueueControl::Left(int64_t calls, bool others_wait, TimePoint now) {
  if (backlogged_) {
    seconds_ = kMemory * seconds_ + std::chrono::duration<double>(now - last_left_).count();
    calls_ = kMemory * calls_ + static_cast<double>(calls);
  }
  backlogged_ = others_wait;
  last_left_ = now;
}

QueueControl::Duration QueueControl::WaitAt(int64_t place) const {
  if (calls_ == 0) return Duration::zero();
  constexpr double kLongest = 24 * 3600;
  const double wait = std::min(static_cast<double>(place) * seconds_ / calls_, kLongest);
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(wait));
}

QueueControl::Duration QueueControl::AllowedWait(TimePoint now) const {
  if (bound_ == Duration::zero()) return Duration::max();
  return now - last_empty_ > bound_ ? bound_ / kStandingShare : bound_;
}

}  // namespace hearth::server
