#include "server/scheduling/alarm_clock.h"

#include <utility>

namespace hearth::server {

AlarmClock::~AlarmClock() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void AlarmClock::CallAt(TimePoint time, std::function<void()> alarm) {
  std::lock_guard lock(mutex_);
  const auto added = alarms_.emplace(time, std::move(alarm));
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  if (added == alarms_.begin()) changed_.notify_one();
}

void AlarmClock::Run() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    if (alarms_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const TimePoint next = alarms_.begin()->first;
    if (next > std::chrono::steady_clock::now()) {
      changed_.wait_until(lock, next);
      continue;
    }
    const auto alarm = std::move(alarms_.begin()->second);
    alarms_.erase(alarms_.begin());
    lock.unlock();
    alarm();
    lock.lock();
  }
}

}  // namespace hearth::server
