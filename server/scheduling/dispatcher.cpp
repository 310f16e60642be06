#include "server/scheduling/dispatcher.h"

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hearth::server {
namespace {

int64_t MaxPending(const Servable& servable, const DispatcherOptions& options) {
  const auto& policy = servable.config.dynamic_batching().default_queue_policy();
  return policy.max_queue_size() > 0 ? policy.max_queue_size() : options.max_pending_per_model;
}

}  // namespace

absl::StatusOr<std::shared_ptr<CallHandle>> Dispatcher::Dispatch(ServablePtr servable, DispatchedCall call,
                                                                 Callback callback) {
  if (call.deadline.has_value() && *call.deadline <= std::chrono::steady_clock::now()) {
    return absl::DeadlineExceededError("the request's deadline had passed when it arrived");
  }
  {
    std::lock_guard lock(mutex_);
    if (!accepting_) return absl::UnavailableError("the server is shutting down");
    if (in_flight_ >= options_.max_in_flight) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the server is full: ", in_flight_, " requests are under way, which is its bound"));
    }
    const int64_t max_pending = MaxPending(*servable, options_);
    if (!servable->statistics->Admit(max_pending)) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "the queue of model '", servable->name, "' is full: ", max_pending, " requests wait, which is its bound"));
    }
    ++in_flight_;
  }

  CallOptions options;
  options.deadline = call.deadline;
  options.on_start = [servable = servable.get(), on_start = std::move(call.on_start)] {
    servable->statistics->Began();
    if (on_start) on_start();
  };
  Model& model = *servable->model;
  return model.CallAsync(call.method, std::move(call.args), std::move(call.kwargs), std::move(options),
                         [this, servable, callback = std::move(callback)](absl::StatusOr<c10::IValue> result) mutable {
                           callback(std::move(result));
                           // The answer is on its way: only now may a drain go on to take the server down.
                           callback = nullptr;
                           servable = nullptr;
                           Ended();
                         });
}

void Dispatcher::Ended() {
  std::lock_guard lock(mutex_);
  if (--in_flight_ == 0) idle_.notify_all();
}

void Dispatcher::StopAccepting() {
  std::lock_guard lock(mutex_);
  accepting_ = false;
}

bool Dispatcher::accepting() const {
  std::lock_guard lock(mutex_);
  return accepting_;
}

int64_t Dispatcher::in_flight() const {
  std::lock_guard lock(mutex_);
  return in_flight_;
}

bool Dispatcher::WaitUntilIdle(TimePoint deadline) {
  std::unique_lock lock(mutex_);
  return idle_.wait_until(lock, deadline, [this] { return in_flight_ == 0; });
}

}  // namespace hearth::server
