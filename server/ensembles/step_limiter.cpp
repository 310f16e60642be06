#include "server/ensembles/step_limiter.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace hearth::server {

void StepLimiter::Enter(std::optional<TimePoint> deadline, std::function<void(absl::Status)> go) {
  {
    std::lock_guard lock(mutex_);
    if (entered_ == most_) {
      waiting_.push_back({deadline.value_or(TimePoint::max()), std::move(go)});
      SetAlarm(waiting_.back().deadline);
      return;
    }
    ++entered_;
  }
  go(absl::OkStatus());
}

void StepLimiter::Leave() {
  std::function<void(absl::Status)> next;
  {
    std::lock_guard lock(mutex_);
    if (waiting_.empty()) {
      --entered_;
      return;
    }
    next = std::move(waiting_.front().go);
    waiting_.pop_front();
  }
  post_([next = std::move(next)] { next(absl::OkStatus()); });
}

void StepLimiter::SetAlarm(TimePoint time) {
  if (time >= alarm_) return;
  alarm_ = time;
  alarms_.CallAt(time, [self = weak_from_this()] {
    if (const auto limiter = self.lock()) limiter->OnAlarm();
  });
}

void StepLimiter::OnAlarm() {
  const TimePoint now = std::chrono::steady_clock::now();
  std::vector<std::function<void(absl::Status)>> late;
  {
    std::lock_guard lock(mutex_);
    alarm_ = TimePoint::max();
    TimePoint next = TimePoint::max();
    for (auto waiter = waiting_.begin(); waiter != waiting_.end();) {
      if (waiter->deadline <= now) {
        late.push_back(std::move(waiter->go));
        waiter = waiting_.erase(waiter);
      } else {
        next = std::min(next, waiter->deadline);
        ++waiter;
      }
    }
    if (next != TimePoint::max()) SetAlarm(next);
  }
  for (auto& go : late) {
    post_([go = std::move(go)] { go(absl::DeadlineExceededError("the request's deadline passed while it waited")); });
  }
}

}  // namespace hearth::server
