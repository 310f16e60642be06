#include "server/api/request_task.h"

#include <algorithm>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "jit/support/logging.h"
#include "jit/support/text.h"
#include "server/api/guarded.h"
#include "server/api/inflate.h"
#include "server/api/request_statistics.h"
#include "server/scheduling/retry_advice.h"
#include "wire/conversion_check.h"

namespace hearth::server {
namespace {

spdlog::logger& Log() {
  static spdlog::logger& log = LoggerOf("api/request");
  return log;
}

// One request has a model loaded at most so often: where memory is short, another load may unload it before the request
// runs.
constexpr int kMostLoadsAwaited = 3;

// Marks a status; see RequestTask::NotItsTurn.
constexpr const char* kTurnType = "hearth/turn";

// What Protobuf can read.
constexpr size_t kMostAnswerBytes = INT32_MAX;

}  // namespace

void RequestTask::Start(const grpc::ByteBuffer& message, std::optional<Clock::time_point> deadline, std::string peer,
                        Done done) {
  arrived_ = handed_over_ = Clock::now();
  done_ = std::move(done);
  deadline_ = deadline;
  message_ = &message;
  record_.peer = std::move(peer);
  record_.request_bytes = message.Length();
  if (environment_.tracer != nullptr) trace_ = environment_.tracer->Begin(caller_trace_);
  absl::Status status;
  if (environment_.memory != nullptr) {
    message_memory_.emplace(environment_.memory->limit(), environment_.memory);
    status = Guarded([&] {
      message_memory_->Charge(record_.request_bytes);
      return absl::OkStatus();
    });
  }
  const bool is_short = CompressionOf(message) == Compression::kNone && IsShort(message);
  if (status.ok() && is_short && ReadsHere(message)) return Run(caller());
  if (status.ok()) {
    status = environment_.dispatcher.Post(is_short ? WorkLength::kShort : WorkLength::kLong,
                                          [self = shared_from_this()] { self->Run(CallerThread::kOneOfMany); });
  }
  grpc::ByteBuffer no_answer;
  if (!status.ok()) Finish(std::move(status), no_answer);
}

absl::Status RequestTask::InflateMessage() {
  const Compression compression = CompressionOf(*message_);
  if (compression == Compression::kNone) return absl::OkStatus();
  inflated_ = *message_;
  message_ = &inflated_;
  const absl::Status status =
      Inflate(inflated_, compression, environment_.max_request_bytes, message_memory_ ? &*message_memory_ : nullptr);
  record_.request_bytes = inflated_.Length();
  return status;
}

absl::Status RequestTask::CheckWanted(const char* when) {
  {
    std::lock_guard lock(mutex_);
    if (cancelled_) return absl::CancelledError(absl::StrCat("the request was cancelled ", when));
  }
  if (!deadline_ || *deadline_ > Clock::now()) return absl::OkStatus();
  return absl::DeadlineExceededError(absl::StrCat("the request's deadline had passed ", when));
}

absl::StatusOr<DispatchedCall> RequestTask::PrepareCall() {
  if (absl::Status status = CheckWanted("before it was read"); !status.ok()) return status;
  std::optional<absl::StatusOr<DispatchedCall>> call;
  const ConversionScope wanted([this] { return CheckWanted("before it was read to its end"); });
  const absl::Status status = Guarded([&] {
    if (absl::Status inflated = InflateMessage(); !inflated.ok()) return inflated;
    call = Prepare(*message_);
    return absl::OkStatus();
  });
  counting_.reset();
  if (!status.ok()) return status;
  return *std::move(call);
}

void RequestTask::Run(CallerThread caller) {
  auto call = PrepareCall();
  absl::Status status = call.status();
  {
    std::lock_guard lock(mutex_);
    if (status.ok() && cancelled_) status = absl::CancelledError("the request was cancelled");
  }
  handed_over_ = Clock::now();
  if (IsIdle(status) && loads_awaited_ < kMostLoadsAwaited) return AwaitModel();
  if (status.GetPayload(kTurnType).has_value()) return WaitForTurn();
  grpc::ByteBuffer no_answer;
  if (!status.ok()) return Finish(std::move(status), no_answer);

  rows_ = call->rows;
  call->deadline = deadline_;
  call->bytes = record_.request_bytes;
  call->caller = caller;
  call->memory = memory_;
  call->on_start = [this] { began_ = Clock::now().time_since_epoch().count(); };
  admitted_ = true;
  // The callback keeps the task alive; so does this call, for what follows it.
  const auto self = shared_from_this();
  auto handle = environment_.dispatcher.Dispatch(
      servable_, *std::move(call), [self](absl::StatusOr<c10::IValue> result, const Execution& execution) {
        self->execution_ = execution;
        self->OnResult(std::move(result));
      });
  if (!handle.ok()) {
    admitted_ = false;
    return Finish(handle.status(), no_answer);
  }
  bool cancel = false;
  {
    std::lock_guard lock(mutex_);
    if (ended_) return;
    handle_ = *handle;
    cancel = cancelled_;
  }
  if (cancel && *handle != nullptr) (*handle)->Cancel();
}

void RequestTask::AwaitModel() {
  // From where the task waits, Cancel may end it at any time.
  const auto self = shared_from_this();
  const std::string model = record_.model;
  ++loads_awaited_;
  if (!BeginWaiting(absl::StrCat("while the model '", model, "' was being loaded again"))) return;
  // Whoever waits for the answer keeps the task until then.
  environment_.repository.LoadIdle(model, self,
                                   [waiting = weak_from_this(), began = Clock::now()](absl::Status loaded) {
                                     if (const auto task = waiting.lock())
                                       task->GoOn(std::move(loaded), Clock::now() - began, WorkLength::kLong);
                                   });
}

void RequestTask::WaitForTurn() {
  // From where the task waits, Cancel may end it at any time.
  const auto self = shared_from_this();
  const auto await_turn = TurnAwaiter();
  if (!BeginWaiting("while it waited for its turn in its sequence")) return;
  await_turn([waiting = weak_from_this(), began = Clock::now()] {
    if (const auto task = waiting.lock()) task->GoOn(absl::OkStatus(), Clock::now() - began, WorkLength::kShort);
  });
}

bool RequestTask::BeginWaiting(std::string what) {
  bool cancelled = false;
  {
    std::lock_guard lock(mutex_);
    waits_ = std::move(what);
    cancelled = cancelled_;
    waiting_ = !cancelled;
  }
  if (cancelled) EndWaiting();
  return !cancelled;
}

void RequestTask::EndWaiting() {
  const bool late = deadline_ && *deadline_ <= Clock::now();
  grpc::ByteBuffer no_answer;
  Finish(late ? absl::DeadlineExceededError(absl::StrCat("the request's deadline passed ", waits_))
              : absl::CancelledError(absl::StrCat("the request was cancelled ", waits_)),
         no_answer);
}

void RequestTask::GoOn(absl::Status loaded, Clock::duration after, WorkLength length) {
  {
    std::lock_guard lock(mutex_);
    // Cancel has ended it.
    if (!std::exchange(waiting_, false)) return;
    await_time_ += after;
  }
  if (loaded.ok()) {
    loaded = environment_.dispatcher.Post(length, [self = shared_from_this()] { self->Run(CallerThread::kOneOfMany); });
  }
  grpc::ByteBuffer no_answer;
  if (!loaded.ok()) Finish(std::move(loaded), no_answer);
}

absl::Status RequestTask::NotItsTurn() {
  absl::Status status = absl::UnavailableError("the request waits for its turn");
  status.SetPayload(kTurnType, absl::Cord());
  return status;
}

void RequestTask::ServeWith(const ServablePtr& servable) {
  if (servable == servable_) return;
  servable_ = servable;
  record_.version = std::to_string(servable_->version);
  counting_.reset();
  memory_ = servable_->model->NewAccount();
  counting_.emplace(memory_.get());
}

absl::Status RequestTask::Identify(const std::string& model, const std::string& version, const std::string& id) {
  record_.model = model;
  record_.version = requested_version_ = version;
  record_.id = id;
  auto servable = environment_.repository.Choose(model, version);
  if (!servable.ok()) return servable.status();
  servable_ = *std::move(servable);
  // Not again for one that has waited.
  if (environment_.recordings != nullptr && recorded_ == nullptr) {
    recorded_ = environment_.recordings->Take(servable_->name, servable_->version, arrived_);
    if (recorded_ != nullptr) asked_version_ = version;
  }
  record_.version = std::to_string(servable_->version);
  memory_ = servable_->model->NewAccount();
  counting_.emplace(memory_.get());
  return absl::OkStatus();
}

void RequestTask::LimitTime(std::chrono::microseconds time) {
  // Beyond what the clock can count there is no deadline.
  if (time > std::chrono::hours(24 * 365)) return;
  const Clock::time_point end = arrived_ + time;
  if (!deadline_ || end < *deadline_) deadline_ = end;
}

void RequestTask::OnResult(absl::StatusOr<c10::IValue> result) {
  finished_ = Clock::now();
  grpc::ByteBuffer answer;
  absl::Status status = result.status();
  run_was_late_ = absl::IsDeadlineExceeded(status);
  if (status.ok()) {
    const MemoryAccount::Scope counting(memory_.get());
    const ConversionScope wanted([this] { return CheckWanted("before its answer was written"); });
    status = Guarded([&] { return Encode(*std::move(result), answer); });
  }
  if (answer.Length() > kMostAnswerBytes) {
    status = absl::ResourceExhaustedError(
        absl::StrCat("the answer has ", answer.Length(), " bytes; at most ", kMostAnswerBytes, " can be sent"));
  }
  if (status.ok()) status = Guarded([&] { return Commit(); });
  if (!status.ok()) answer.Clear();
  Finish(std::move(status), answer);
}

void RequestTask::Finish(absl::Status status, grpc::ByteBuffer& answer) {
  // What a model raises is whatever it likes; messages hold text.
  if (!status.ok()) {
    const auto advice = RetryAfterOf(status);
    status = absl::Status(status.code(), ToUtf8(std::string(status.message())));
    if (advice) status = WithRetryAfter(std::move(status), *advice);
  }
  record_.response_bytes = answer.Length();
  if (recorded_ != nullptr) recorded_->End(operation(), status);
  Report(status, Clock::now());
  {
    std::lock_guard lock(mutex_);
    ended_ = true;
    handle_ = nullptr;
  }
  OnEnd();
  const Done done = std::move(done_);
  done(std::move(status), answer);
}

void RequestTask::Report(const absl::Status& status, Clock::time_point now) {
  RequestTimes& times = record_.times;
  times.total = now - arrived_;
  times.compute_input = handed_over_ - arrived_ - await_time_;
  const Clock::rep began = began_;
  if (admitted_) {
    const Clock::time_point start = began == 0 ? handed_over_ : Clock::time_point(Clock::duration(began));
    times.queue = start - handed_over_ + await_time_;
    times.compute_infer = finished_ - start;
    times.compute_output = now - finished_;
  }
  record_.status = status;
  EndedRequest ended{.status = status,
                     .times = times,
                     .rows = rows_,
                     .execution = execution_,
                     .admitted = admitted_,
                     .began = began != 0};
  // Or it ran for longer than it may, with a deadline that had not come.
  ended.ran_too_long = run_was_late_ && ended.began && (!deadline_ || finished_ < *deadline_);
  const bool model_failed = ModelFailed(ended);
  if (servable_ != nullptr) CountRequest(ended, *servable_->statistics);
  if (model_failed) {
    Log().warn("model {} version {}: {}", record_.model, record_.version,
               std::string(status.message().data(), status.message().size()));
  }
  if (!status.ok() && environment_.recent_errors != nullptr) {
    const auto kind = model_failed ? RecentErrors::Kind::kModel : RecentErrors::Kind::kRefused;
    environment_.recent_errors->Add(kind, record_.model, record_.version, status);
  }
  if (trace_) EndTrace(status, began != 0);
  if (environment_.access_log == nullptr) return;
  if (began != 0) record_.tier = execution_.tier;
  if (const auto& trace = trace_ ? trace_ : caller_trace_) record_.trace_id = trace->trace_id_text();
  environment_.access_log->Write(record_);
}

void RequestTask::EndTrace(const absl::Status& status, bool began) {
  environment_.tracer->End({.context = *trace_,
                            .operation = operation(),
                            .model = record_.model,
                            .version = record_.version,
                            .id = record_.id,
                            .end = std::chrono::system_clock::now(),
                            .times = record_.times,
                            .began = began,
                            .tier = execution_.tier,
                            .rows = execution_.rows,
                            .request_bytes = record_.request_bytes,
                            .response_bytes = record_.response_bytes,
                            .status = status});
}

void RequestTask::Cancel() {
  std::shared_ptr<CallHandle> handle;
  bool waiting = false;
  {
    std::lock_guard lock(mutex_);
    cancelled_ = true;
    handle = handle_;
    waiting = std::exchange(waiting_, false);
  }
  if (handle != nullptr) handle->Cancel();
  if (waiting) EndWaiting();
}

}  // namespace hearth::server
