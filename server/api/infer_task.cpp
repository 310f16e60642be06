#include "server/api/infer_task.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/support/logging.h"
#include "server/api/request_message.h"
#include "server/api/signature.h"

namespace hearth::server {
namespace {

spdlog::logger& Log() {
  static spdlog::logger& log = LoggerOf("api/infer");
  return log;
}

FailureReason ReasonOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnavailable:
      return FailureReason::kRejected;
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kDeadlineExceeded:
      return FailureReason::kCanceled;
    case absl::StatusCode::kInternal:
      return FailureReason::kBackend;
    default:
      return FailureReason::kOther;
  }
}

}  // namespace

void InferTask::Start(const grpc::ByteBuffer& message, std::optional<Clock::time_point> deadline, std::string peer,
                      Encode encode, Done done) {
  arrived_ = Clock::now();
  encode_ = std::move(encode);
  done_ = std::move(done);
  record_.peer = std::move(peer);

  DispatchedCall call;
  absl::Status status = Prepare(message, call);
  {
    std::lock_guard lock(mutex_);
    if (status.ok() && cancelled_) status = absl::CancelledError("the request was cancelled");
  }
  handed_over_ = Clock::now();
  if (!status.ok()) return Finish(std::move(status));

  call.deadline = deadline;
  call.bytes = record_.request_bytes;
  call.on_start = [this] { began_ = Clock::now().time_since_epoch().count(); };
  admitted_ = true;
  // The callback keeps the task alive; so does this call, for what follows it.
  const auto self = shared_from_this();
  auto handle = environment_.dispatcher.Dispatch(
      servable_, std::move(call), [self](absl::StatusOr<c10::IValue> result) { self->OnResult(std::move(result)); });
  if (!handle.ok()) {
    admitted_ = false;
    return Finish(handle.status());
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

absl::Status InferTask::Prepare(const grpc::ByteBuffer& message, DispatchedCall& call) {
  // The fields of a usual request fit here, so that they take no trips to the allocator.
  alignas(std::max_align_t) char memory[4096];
  google::protobuf::Arena arena(memory, sizeof(memory));
  auto request = ParseInferRequest(message, arena);
  if (!request.ok()) return request.status();
  const inference::ModelInferRequest& fields = *request->fields;
  header_.id = fields.id();
  record_.model = fields.model_name();
  record_.version = fields.model_version();
  record_.id = fields.id();
  record_.request_bytes = request->size;

  auto servable = environment_.repository.Find(fields.model_name(), fields.model_version());
  if (!servable.ok()) return servable.status();
  servable_ = *std::move(servable);
  header_.model_name = servable_->name;
  header_.model_version = std::to_string(servable_->version);
  record_.version = header_.model_version;

  for (const char* unsupported : {"sequence_id"}) {
    auto parameter = fields.parameters().find(unsupported);
    const bool set = parameter != fields.parameters().end() &&
                     (parameter->second.int64_param() != 0 || !parameter->second.string_param().empty());
    if (set) return absl::InvalidArgumentError(absl::StrCat("the parameter '", unsupported, "' is not offered here"));
  }
  for (const auto& output : fields.outputs()) {
    for (const char* unsupported : {"classification", "shared_memory_region"}) {
      if (!output.parameters().contains(unsupported)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("output '", output.name(), "': the parameter '", unsupported, "' is not offered here"));
    }
    requested_.push_back(output.name());
  }
  auto inputs = ReadInputs(*request);
  if (!inputs.ok()) return inputs.status();
  const auto& signature = static_cast<const Signature&>(*servable_->call_interface);
  auto bound = signature.Bind(*std::move(inputs), environment_.device);
  if (!bound.ok()) return bound.status();
  call.args = std::move(bound->args);
  call.kwargs = std::move(bound->kwargs);
  batch_size_ = bound->batch_size;
  return absl::OkStatus();
}

void InferTask::OnResult(absl::StatusOr<c10::IValue> result) {
  finished_ = Clock::now();
  if (!result.ok()) return Finish(result.status());
  const auto& signature = static_cast<const Signature&>(*servable_->call_interface);
  auto outputs = signature.Unbind(*std::move(result), requested_);
  if (!outputs.ok()) return Finish(outputs.status());
  Finish(absl::OkStatus(), *std::move(outputs));
}

void InferTask::Finish(absl::Status status, std::vector<WireTensor> outputs) {
  // Encoding happens last of the work, so that it is in the times; what is sent is sent by Done.
  record_.response_bytes = encode_({status, std::move(header_), std::move(outputs)});
  Report(status, Clock::now());
  {
    std::lock_guard lock(mutex_);
    ended_ = true;
    handle_ = nullptr;
  }
  Done done = std::move(done_);
  encode_ = nullptr;
  done();
}

void InferTask::Report(const absl::Status& status, Clock::time_point now) {
  RequestTimes& times = record_.times;
  times.total = now - arrived_;
  times.compute_input = handed_over_ - arrived_;
  const Clock::rep began = began_;
  if (admitted_) {
    const Clock::time_point start = began == 0 ? handed_over_ : Clock::time_point(Clock::duration(began));
    times.queue = start - handed_over_;
    times.compute_infer = finished_ - start;
    times.compute_output = now - finished_;
  }
  record_.status = status;
  if (servable_ != nullptr) {
    ModelStatistics& statistics = *servable_->statistics;
    if (status.ok()) {
      // A runtime that does not say when it begins leaves the request counted as waiting.
      if (began == 0) statistics.Began();
      statistics.Succeeded(times, static_cast<uint64_t>(std::max<int64_t>(batch_size_, 0)));
    } else if (admitted_) {
      statistics.Failed(ReasonOf(status), times.total, began != 0);
    } else {
      statistics.Refused(ReasonOf(status), times.total);
    }
  }
  if (status.code() == absl::StatusCode::kInternal) {
    Log().warn("model {} version {}: {}", record_.model, record_.version,
               std::string(status.message().data(), status.message().size()));
  }
  if (environment_.access_log != nullptr) environment_.access_log->Write(record_);
}

void InferTask::Cancel() {
  std::shared_ptr<CallHandle> handle;
  {
    std::lock_guard lock(mutex_);
    cancelled_ = true;
    handle = handle_;
  }
  if (handle != nullptr) handle->Cancel();
}

}  // namespace hearth::server
