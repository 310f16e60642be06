#include "server/repository/reminder.h"

namespace hearth::server {

Reminder::~Reminder() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Reminder::CallAt(Clock::time_point time) {
  {
    std::lock_guard lock(mutex_);
    times_.insert(time);
    if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  }
  changed_.notify_all();
}

void Reminder::Run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (times_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const Clock::time_point next = *times_.begin();
    if (Clock::now() < next) {
      changed_.wait_until(lock, next);
      continue;
    }
    times_.erase(times_.begin());
    lock.unlock();
    call_();
    lock.lock();
  }
}

}  // namespace hearth::server
