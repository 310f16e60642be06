// How many requests may be at one step of an ensemble at once (max_inflight_requests): those that come when there are
// as many wait, in the order in which they came, without a thread. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "absl/status/status.h"
#include "server/scheduling/alarm_clock.h"
#include "server/scheduling/alarm_times.h"

namespace hearth::server {

class StepLimiter : public std::enable_shared_from_this<StepLimiter> {
 public:
  using TimePoint = AlarmClock::TimePoint;
  using Post = std::function<void(std::function<void()>)>;

  // Those that waited go on where `post` runs them. Both outlive it.
  StepLimiter(int64_t most, AlarmClock& alarms, const Post& post) : most_(most), alarms_(alarms), post_(post) {}

  // Of one that waits.
  using Ticket = uint64_t;

  // Calls `go` once: with OK, before this returns if there is room, and Leave must follow; or with kDeadlineExceeded.
  // Nothing is returned for one that does not wait.
  std::optional<Ticket> Enter(std::optional<TimePoint> deadline, std::function<void(absl::Status)> go);
  // One that still waits is forgotten: its `go` is not called.
  void Withdraw(Ticket ticket);
  void Leave();

 private:
  struct Waiter {
    TimePoint deadline;
    std::function<void(absl::Status)> go;
  };

  // Under the lock.
  void SetAlarm(TimePoint time);
  // `time`: that for which the alarm was set.
  void OnAlarm(TimePoint time);

  const int64_t most_;
  AlarmClock& alarms_;
  const Post& post_;
  std::mutex mutex_;
  int64_t entered_ = 0;
  std::map<Ticket, Waiter> waiting_;
  Ticket next_ticket_ = 0;
  AlarmTimes alarm_times_;
};

}  // namespace hearth::server
