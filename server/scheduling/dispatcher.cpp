#include "server/scheduling/dispatcher.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/support/logging.h"
#include "server/scheduling/callable_ensemble.h"
#include "server/scheduling/trust.h"

namespace hearth::server {
namespace {

using Clock = std::chrono::steady_clock;

spdlog::logger& DispatcherLog() {
  static spdlog::logger& log = LoggerOf("scheduling/dispatcher");
  return log;
}

constexpr size_t kSmallRequest = 64 << 10;
// A run this short is not worth another thread. Longer ones are borne for a while where other threads go on.
constexpr QuickTimes kRunTimes{.quick = std::chrono::microseconds(50), .slow = std::chrono::milliseconds(20)};
// A request whose run and answer take so little is quicker done than handed over, on a thread that others wait for.
constexpr QuickTimes kRequestTimes{.quick = std::chrono::microseconds(30), .slow = std::chrono::milliseconds(3)};

void Note(std::atomic<int>& trust, Clock::duration time, const QuickTimes& times) {
  const int before = trust.load(std::memory_order_relaxed);
  const int after = TrustAfter(before, time, times);
  // Written only while it changes: a model in use does not share a cache line between all its requests.
  if (after != before) trust.store(after, std::memory_order_relaxed);
}

bool MayRunHere(const Servable& servable, const DispatchedCall& call) {
  if (call.bytes > kSmallRequest) return false;
  if (call.caller == CallerThread::kOneOfMany) {
    return servable.short_runs.load(std::memory_order_relaxed) >= kEnoughTrust;
  }
  return servable.quick_requests.load(std::memory_order_relaxed) >= kEnoughTrust;
}

bool RunsHere(const Servable& servable, const DispatchedCall& call) {
  return MayRunHere(servable, call) && servable.model->RunsOnCaller(call.method);
}

// Where there are levels of priority, each has its own bound, which its Batcher keeps.
int64_t MaxPending(const Servable& servable, const DispatcherOptions& options) {
  const QueueSettings& settings = servable.queue_settings;
  const int64_t own = settings.has_levels() ? 0 : settings.levels[0].max_waiting;
  return own > 0 ? own : options.max_pending_per_model;
}

}  // namespace

// Called under the lock.
absl::Status Dispatcher::CheckRoom() const {
  if (!accepting_) return absl::UnavailableError("the server is shutting down");
  if (in_flight_ < options_.max_in_flight) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the server is full: ", in_flight_, " requests are under way, which is its bound"));
}

// Called under the lock.
absl::Status Dispatcher::Admit(const Servable& servable, bool of_admitted_request) {
  if (!of_admitted_request) {
    if (absl::Status status = CheckRoom(); !status.ok()) return status;
  }
  const int64_t max_pending = MaxPending(servable, options_);
  if (!servable.statistics->Admit(max_pending)) {
    return absl::ResourceExhaustedError(absl::StrCat("the queue of model '", servable.name, "' is full: ", max_pending,
                                                     " requests wait, which is its bound"));
  }
  ++in_flight_;
  return absl::OkStatus();
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
    Ended(std::nullopt);
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
                                                                 DispatchCallback callback) {
  if (call.deadline.has_value() && *call.deadline <= Clock::now()) {
    return absl::DeadlineExceededError("the request's deadline had passed when it arrived");
  }
  const Version& version = VersionOf(*servable);
  std::optional<ResponseCache::Key> key;
  const Clock::time_point began = version.cache_load ? Clock::now() : Clock::time_point();
  if (version.cache_load && MayShareAnswer(call)) {
    key = ResponseCache::KeyOf(*version.cache_load, call);
  }
  if (!key) return Run(*version.batcher, std::move(servable), std::move(call), std::move(callback));
  if (auto answer = cache_.Find(*key)) {
    const Clock::duration time = Clock::now() - began;
    absl::Status status = AnswerFromCache(*servable, *std::move(answer), call.of_admitted_request, std::move(callback));
    if (!status.ok()) return status;
    servable->statistics->CacheHit(time);
    return std::shared_ptr<CallHandle>();
  }
  const Clock::duration looked = Clock::now() - began;
  auto keep = [this, key = *key, looked, statistics = servable->statistics, callback = std::move(callback)](
                  absl::StatusOr<c10::IValue> answer, const Execution& execution) {
    if (answer.ok()) {
      const Clock::time_point ended = Clock::now();
      cache_.Put(key, *answer);
      statistics->CacheMiss(looked + (Clock::now() - ended));
    }
    callback(std::move(answer), execution);
  };
  return Run(*version.batcher, std::move(servable), std::move(call), std::move(keep));
}

absl::Status Dispatcher::AnswerFromCache(const Servable& servable, c10::IValue answer, bool of_admitted_request,
                                         DispatchCallback callback) {
  {
    std::lock_guard lock(mutex_);
    if (absl::Status status = CheckRoom(); !status.ok() && !of_admitted_request) return status;
    ++in_flight_;
  }
  servable.statistics->Admit(std::numeric_limits<int64_t>::max());
  std::exchange(callback, nullptr)(std::move(answer), {.rows = 0, .counts = false});
  Ended(std::nullopt);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<CallHandle>> Dispatcher::Run(Batcher& batcher, ServablePtr servable, DispatchedCall call,
                                                            DispatchCallback callback) {
  const bool has_queue = servable->queue_settings.queues();
  const bool runs_here = !has_queue && RunsHere(*servable, call);
  std::optional<RunSlot> slot;
  absl::Status admitted;
  {
    std::lock_guard lock(mutex_);
    admitted = Admit(*servable, call.of_admitted_request);
    if (admitted.ok() && !has_queue && !runs_here) slot = shares_.Take(batcher.share(), Clock::now());
  }
  if (absl::IsResourceExhausted(admitted)) return batcher.Advised(std::move(admitted));
  if (!admitted.ok()) return admitted;

  if (runs_here || slot) return RunCallIn(slot, std::move(servable), std::move(call), std::move(callback));
  auto handle = batcher.Add(servable, std::move(call), std::move(callback));
  if (!handle.ok()) {
    servable->statistics->TurnedAway();
    Ended(std::nullopt);
  }
  return handle;
}

const Dispatcher::Version& Dispatcher::VersionOf(const Servable& servable) {
  std::call_once(servable.queue_made, [&] { servable.queue = MakeVersion(servable); });
  return *static_cast<const Version*>(servable.queue.get());
}

std::shared_ptr<Dispatcher::Version> Dispatcher::MakeVersion(const Servable& servable) {
  auto version = std::make_shared<Version>();
  bool caches = options_.cache_bytes > 0 && servable.config.response_cache().enable();
  if (caches) {
    const auto why_not = servable.model->WhyNotRepeatable("forward");
    caches = why_not.ok() && why_not->empty();
    if (!caches) {
      DispatcherLog().warn("model {} version {}: its answers are not cached: forward {}", servable.name,
                           servable.version, why_not.ok() ? *why_not : std::string(why_not.status().message()));
    }
  }
  std::lock_guard lock(mutex_);
  if (caches) version->cache_load = cached_loads_++;
  ModelShare& share =
      shares_.ShareOf(servable.name, servable.queue_settings.weight, /*takes_slots=*/servable.ensemble == nullptr);
  version->batcher = std::make_shared<Batcher>(servable.queue_settings, share, static_cast<BatcherHost&>(*this));
  return version;
}

std::shared_ptr<CallHandle> Dispatcher::RunEnsembleIn(const std::optional<RunSlot>& slot, ServablePtr servable,
                                                      DispatchedCall call, DispatchCallback callback) {
  auto& ensemble = static_cast<CallableEnsemble&>(*servable->ensemble);
  call.on_start = [servable, has_begun = call.has_begun, on_start = std::move(call.on_start)] {
    if (has_begun) return;
    servable->statistics->Began();
    if (on_start) on_start();
  };
  return ensemble.Start(std::move(call), [this, slot, servable, callback = std::move(callback)](
                                             absl::StatusOr<c10::IValue> answer, const Execution& execution) mutable {
    std::exchange(callback, nullptr)(std::move(answer), execution);
    servable = nullptr;
    Ended(slot);
  });
}

std::shared_ptr<CallHandle> Dispatcher::RunCallIn(std::optional<RunSlot> slot, ServablePtr servable,
                                                  DispatchedCall call, DispatchCallback callback) {
  if (servable->ensemble != nullptr) {
    return RunEnsembleIn(slot, std::move(servable), std::move(call), std::move(callback));
  }
  // Shared by the two callbacks, of which the runtime may keep the first longer than it needs it.
  struct Call {
    ServablePtr servable;
    std::function<void()> on_start;
    DispatchCallback callback;
    Execution execution;
    bool has_begun;
    bool is_split_part;
    std::optional<RunSlot> slot;
    TimePoint began;
    std::shared_ptr<CallReport> report;  // null: nobody asks
  };
  auto shared = std::make_shared<Call>(Call{servable,
                                            std::move(call.on_start),
                                            std::move(callback),
                                            {.rows = call.rows},
                                            call.has_begun,
                                            call.is_split_part,
                                            slot,
                                            {},
                                            nullptr});
  CallOptions options;
  options.deadline = call.deadline;
  options.memory = std::move(call.memory);
  options.answer_stays_on_device = call.answer_stays_on_device;
  options.may_run_here = MayRunHere(*servable, call);
  options.tier = &shared->execution.tier;
  options.report = shared->report = servable->profiler.Take();
  options.on_start = [shared] {
    shared->began = Clock::now();
    if (shared->has_begun) return;
    if (!shared->is_split_part) shared->servable->statistics->Began();
    if (shared->on_start) shared->on_start();
  };
  Model& model = *servable->model;
  return model.CallAsync(call.method, std::move(call.arguments.args), std::move(call.arguments.kwargs),
                         std::move(options), [this, shared = std::move(shared)](absl::StatusOr<c10::IValue> result) {
                           // Of a run that began at an unknown time, at the clock's epoch, nothing good is known.
                           Note(shared->servable->short_runs, Clock::now() - shared->began, kRunTimes);
                           if (shared->report != nullptr) {
                             shared->servable->profiler.Add({shared->report, shared->began, Clock::now()});
                           }
                           shared->callback(std::move(result), shared->execution);
                           Note(shared->servable->quick_requests, Clock::now() - shared->began, kRequestTimes);
                           // The answer is on its way: only now may a drain go on to take the server down.
                           shared->callback = nullptr;
                           shared->on_start = nullptr;
                           shared->servable = nullptr;
                           Ended(shared->slot);
                         });
}

void Dispatcher::Ended(const std::optional<RunSlot>& slot) {
  {
    std::lock_guard lock(mutex_);
    if (slot) shares_.Free(*slot, Clock::now());
    const bool gives_slots = slot && shares_.anyone_waits();
    if (gives_slots) ++works_;
    if (--in_flight_ == 0) idle_.notify_all();
    if (!gives_slots) return;
  }
  GiveSlots();
  WorkEnded();
}

std::optional<RunSlot> Dispatcher::TakeSlot(ModelShare& share, const std::shared_ptr<SlotWaiter>& waiter) {
  std::lock_guard lock(mutex_);
  auto slot = shares_.Take(share, Clock::now());
  if (!slot && waiter != nullptr) shares_.Wait(share, waiter);
  return slot;
}

void Dispatcher::FreeSlot(const RunSlot& slot) {
  {
    std::lock_guard lock(mutex_);
    shares_.Free(slot, Clock::now());
  }
  GiveSlots();
}

void Dispatcher::GiveSlots() {
  for (;;) {
    std::optional<FairShares::Grant> grant;
    {
      std::lock_guard lock(mutex_);
      grant = shares_.Next(Clock::now());
    }
    if (!grant) return;
    if (grant->waiter->UseSlot(grant->slot)) continue;
    std::lock_guard lock(mutex_);
    shares_.GiveBack(grant->slot);
  }
}

void Dispatcher::CallsBegan(int64_t count) {
  std::lock_guard lock(mutex_);
  in_flight_ += count;
}

void Dispatcher::WorkBegan() {
  std::lock_guard lock(mutex_);
  ++works_;
}

void Dispatcher::WorkEnded() {
  std::lock_guard lock(mutex_);
  if (--works_ == 0) idle_.notify_all();
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
  return idle_.wait_until(lock, deadline, [this] { return in_flight_ == 0 && works_ == 0; });
}

}  // namespace hearth::server
