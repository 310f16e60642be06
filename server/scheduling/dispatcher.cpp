#include "server/scheduling/dispatcher.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hearth::server {
namespace {

// A request that takes so little, its answer written, is not worth another thread. Each such one is a credit of its
// model's; one that takes longer costs as many as would have fitted into its time. A model that has enough of them runs
// on its callers' threads, and holds these in the long run for no more than so much time a short request.
constexpr std::chrono::microseconds kShortRun{50};
constexpr int kEnoughShortRuns = 16;
constexpr int kMostShortRuns = 64;
constexpr int kMostOwed = 100'000;
constexpr size_t kSmallRequest = 64 << 10;

bool MayRunHere(const Servable& servable, size_t bytes) {
  return bytes <= kSmallRequest && servable.short_runs.load(std::memory_order_relaxed) >= kEnoughShortRuns;
}

int64_t MaxPending(const Servable& servable, const DispatcherOptions& options) {
  const auto& policy = servable.config.dynamic_batching().default_queue_policy();
  return policy.max_queue_size() > 0 ? policy.max_queue_size() : options.max_pending_per_model;
}

}  // namespace

// Called under the lock.
absl::Status Dispatcher::CheckRoom() const {
  if (!accepting_) return absl::UnavailableError("the server is shutting down");
  if (in_flight_ < options_.max_in_flight) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the server is full: ", in_flight_, " requests are under way, which is its bound"));
}

absl::Status Dispatcher::Post(WorkLength length, std::function<void()> work) {
  {
    std::lock_guard lock(mutex_);
    if (absl::Status status = CheckRoom(); !status.ok()) return status;
    ++in_flight_;
    if (length == WorkLength::kLong) {
      if (long_works_ == options_.max_long_works) {
        waiting_long_works_.push_back(std::move(work));
        return absl::OkStatus();
      }
      ++long_works_;
    }
  }
  HandOver(length, std::move(work));
  return absl::OkStatus();
}

void Dispatcher::HandOver(WorkLength length, std::function<void()> work) {
  post_([this, length, work = std::move(work)]() mutable {
    work();
    work = nullptr;
    if (length == WorkLength::kLong) LongEnded();
    Ended();
  });
}

void Dispatcher::LongEnded() {
  std::function<void()> next;
  {
    std::lock_guard lock(mutex_);
    if (waiting_long_works_.empty()) {
      --long_works_;
      return;
    }
    next = std::move(waiting_long_works_.front());
    waiting_long_works_.pop_front();
  }
  HandOver(WorkLength::kLong, std::move(next));
}

absl::StatusOr<std::shared_ptr<CallHandle>> Dispatcher::Dispatch(ServablePtr servable, DispatchedCall call,
                                                                 Callback callback) {
  if (call.deadline.has_value() && *call.deadline <= std::chrono::steady_clock::now()) {
    return absl::DeadlineExceededError("the request's deadline had passed when it arrived");
  }
  {
    std::lock_guard lock(mutex_);
    if (absl::Status status = CheckRoom(); !status.ok()) return status;
    const int64_t max_pending = MaxPending(*servable, options_);
    if (!servable->statistics->Admit(max_pending)) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "the queue of model '", servable->name, "' is full: ", max_pending, " requests wait, which is its bound"));
    }
    ++in_flight_;
  }

  // Shared by the two callbacks, of which the runtime may keep the first longer than it needs it.
  struct Call {
    ServablePtr servable;
    std::function<void()> on_start;
    Callback callback;
  };
  auto shared = std::make_shared<Call>(Call{servable, std::move(call.on_start), std::move(callback)});
  CallOptions options;
  options.deadline = call.deadline;
  options.memory = std::move(call.memory);
  options.may_run_here = MayRunHere(*servable, call.bytes);
  options.on_start = [shared] {
    shared->servable->statistics->Began();
    if (shared->on_start) shared->on_start();
  };
  Model& model = *servable->model;
  return model.CallAsync(call.method, std::move(call.args), std::move(call.kwargs), std::move(options),
                         [this, shared = std::move(shared)](absl::StatusOr<c10::IValue> result) {
                           shared->callback(std::move(result));
                           // The answer is on its way: only now may a drain go on to take the server down.
                           shared->callback = nullptr;
                           shared->on_start = nullptr;
                           shared->servable = nullptr;
                           Ended();
                         });
}

void Dispatcher::NoteTime(const Servable& servable, size_t bytes, std::chrono::steady_clock::duration time) {
  if (bytes > kSmallRequest) return;
  const int so_far = servable.short_runs.load(std::memory_order_relaxed);
  int now = std::min(so_far + 1, kMostShortRuns);
  if (time > kShortRun) {
    // What ran elsewhere costs no more than there is.
    const int least = MayRunHere(servable, bytes) ? -kMostOwed : std::min(so_far, 0);
    now = static_cast<int>(std::max<int64_t>(so_far - time / kShortRun, least));
  }
  // Written only while it changes: a model in use does not share a cache line between all its requests.
  if (now != so_far) servable.short_runs.store(now, std::memory_order_relaxed);
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
