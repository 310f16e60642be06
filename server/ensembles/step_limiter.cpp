#include "server/ensembles/step_limiter.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace hearth::server {

std::optional<StepLimiter::Ticket> StepLimiter::Enter(std::optional<TimePoint> deadline,
                                                      std::function<void(absl::Status)> go) {
  {
    std::lock_guard lock(mutex_);
    if (entered_ == most_) {
      const TimePoint end = deadline.value_or(TimePoint::max());
      const Ticket ticket = next_ticket_++;
      waiting_.emplace(ticket, Waiter{end, std::move(go)});
      SetAlarm(end);
      return ticket;
    }
    ++entered_;
  }
  go(absl::OkStatus());
  return std::nullopt;
}

void StepLimiter::Withdraw(Ticket ticket) {
  std::map<Ticket, Waiter>::node_type waiter;  // what it holds goes without the lock
  std::lock_guard lock(mutex_);
  waiter = waiting_.extract(ticket);
}

void StepLimiter::Leave() {
  std::function<void(absl::Status)> next;
  {
    std::lock_guard lock(mutex_);
    if (waiting_.empty()) {
      --entered_;
      return;
    }
    next = std::move(waiting_.begin()->second.go);
    waiting_.erase(waiting_.begin());
  }
  post_([next = std::move(next)] { next(absl::OkStatus()); });
}

void StepLimiter::SetAlarm(TimePoint time) {
  if (!alarm_times_.Add(time)) return;
  alarms_.CallAt(time, [self = weak_from_this(), time] {
    if (const auto limiter = self.lock()) limiter->OnAlarm(time);
  });
}

void StepLimiter::OnAlarm(TimePoint time) {
  const TimePoint now = std::chrono::steady_clock::now();
  std::vector<std::function<void(absl::Status)>> late;
  {
    std::lock_guard lock(mutex_);
    alarm_times_.Came(time);
    TimePoint next = TimePoint::max();
    for (auto waiter = waiting_.begin(); waiter != waiting_.end();) {
      if (waiter->second.deadline <= now) {
        late.push_back(std::move(waiter->second.go));
        waiter = waiting_.erase(waiter);
      } else {
        next = std::min(next, waiter->second.deadline);
        ++waiter;
      }
    }
    SetAlarm(next);
  }
  for (auto& go : late) {
    post_([go = std::move(go)] { go(absl::DeadlineExceededError("the request's deadline passed while it waited")); });
  }
}

}  // namespace hearth::server
