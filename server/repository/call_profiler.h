// Profiles the next calls of a version for who asks: each fills a report with the operators that it ran. One profile at
// a time; calls pay one look at a flag while there is none. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "jit/runtime.h"

namespace hearth::server {

struct ProfiledCall {
  std::shared_ptr<const CallReport> report;
  std::chrono::steady_clock::time_point began, ended;
};

class CallProfiler {
 public:
  static constexpr size_t kMostCalls = 1000;
  // Operators of one call that are told of, and of all. Those of a call take no allocation that the limit of a
  // request's memory would refuse.
  static constexpr size_t kMostEventsOfCall = 4096;
  static constexpr size_t kMostEvents = 100'000;

  // Has so many calls profiled, those that begin from now on. `done` is called when all have ended, on a thread that a
  // call ends on. kUnavailable while another profile is made.
  absl::Status Begin(size_t calls, std::function<void()> done);
  // Ends the profile, and gives the calls of it that have ended. Nothing if there is none.
  std::vector<ProfiledCall> End();

  // The report that a call which begins is to fill; null: none.
  std::shared_ptr<CallReport> Take();
  // A call that took a report has ended.
  void Add(ProfiledCall call);

 private:
  std::atomic<bool> wants_calls_{false};
  std::mutex mutex_;
  bool begun_ = false;
  size_t wanted_ = 0;                      // calls that may still begin
  size_t room_ = 0;                        // for events
  std::set<const CallReport*> under_way_;  // of this profile
  std::vector<ProfiledCall> ended_;
  std::function<void()> done_;
};

}  // namespace hearth::server
