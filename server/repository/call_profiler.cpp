#include "server/repository/call_profiler.h"

#include <algorithm>
#include <utility>

namespace hearth::server {

absl::Status CallProfiler::Begin(size_t calls, std::function<void()> done) {
  std::lock_guard lock(mutex_);
  if (begun_) return absl::UnavailableError("another profile of this version is being made");
  begun_ = true;
  wanted_ = calls;
  room_ = kMostEvents;
  done_ = std::move(done);
  wants_calls_ = true;
  return absl::OkStatus();
}

std::vector<ProfiledCall> CallProfiler::End() {
  std::function<void()> done;  // goes after the lock
  std::lock_guard lock(mutex_);
  begun_ = false;
  wants_calls_ = false;
  wanted_ = 0;
  under_way_.clear();
  done.swap(done_);
  return std::exchange(ended_, {});
}

std::shared_ptr<CallReport> CallProfiler::Take() {
  if (!wants_calls_.load(std::memory_order_relaxed)) return nullptr;
  auto report = std::make_shared<CallReport>();
  std::lock_guard lock(mutex_);
  if (wanted_ == 0) return nullptr;
  if (--wanted_ == 0) wants_calls_ = false;
  // Those that are under way have not told how many they use, so a few more may come than there is room for.
  report->most_events = std::min(room_, kMostEventsOfCall);
  under_way_.insert(report.get());
  return report;
}

void CallProfiler::Add(ProfiledCall call) {
  std::function<void()> done;
  {
    std::lock_guard lock(mutex_);
    // It may be of a profile that has ended without it.
    if (under_way_.erase(call.report.get()) == 0) return;
    for (const CallReport::Run& run : call.report->runs) room_ -= std::min(room_, run.events.size());
    ended_.push_back(std::move(call));
    if (wanted_ == 0 && under_way_.empty()) done = std::exchange(done_, nullptr);
  }
  if (done) done();
}

}  // namespace hearth::server
