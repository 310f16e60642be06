#include "server/repository/live_calls.h"

#include <utility>

namespace hearth::server {

LiveCalls::Place LiveCalls::TakeOne() {
  if (taken_->fetch_add(1) < kPlaces) return {taken_.get(), [taken = taken_](const void*) { --*taken; }};
  --*taken_;
  return nullptr;
}

void LiveCalls::Leave(Place place, std::unique_ptr<const LiveCall> call) {
  {
    const std::lock_guard lock(mutex_);
    if (!wanted_) return;
    left_.push_back({std::move(place), std::move(call)});
  }
  changed_.notify_all();
}

void LiveCalls::Begin() {
  const std::lock_guard lock(mutex_);
  wanted_ = true;
}

std::unique_ptr<const LiveCall> LiveCalls::Next(Clock::time_point deadline, std::stop_token stop) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_until(lock, stop, deadline, [this] { return !left_.empty(); })) return nullptr;
  // Its place goes with it, so that the next request leaves a copy while this one is run.
  Left next = std::move(left_.front());
  left_.pop_front();
  lock.unlock();
  return std::move(next.call);
}

void LiveCalls::End() {
  std::deque<Left> left;
  const std::lock_guard lock(mutex_);
  wanted_ = false;
  left.swap(left_);
}

}  // namespace hearth::server
