#include "server/api/native_task.h"

#include <ATen/core/function_schema.h>
#include <google/protobuf/arena.h>

#include <exception>
#include <new>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/hearth.pb.h"
#include "server/api/infer_parameters.h"
#include "server/api/native_message.h"
#include "server/api/recorded_message.h"
#include "server/api/slice_builder.h"
#include "server/api/split_message.h"
#include "server/scheduling/batch_values.h"
#include "wire/conversion_check.h"
#include "wire/message_from_value.h"

namespace hearth::server {
bool NativeTask::IsShort(const grpc::ByteBuffer& message) const {
  return IsReadQuickly(message, v1::CallRequest::kPayloadsFieldNumber);
}

absl::StatusOr<DispatchedCall> NativeTask::Prepare(const grpc::ByteBuffer& message) {
  alignas(std::max_align_t) char memory[4096];
  google::protobuf::Arena arena(memory, sizeof(memory));
  auto read = ParseCallRequest(message, arena);
  if (!read.ok()) return read.status();
  const v1::CallRequest& request = *read->request;
  if (absl::Status status = Identify(request.model(), request.version(), request.id()); !status.ok()) return status;

  if (absl::Status status = CheckPriority(request.priority(), servable().config.dynamic_batching().priority_levels());
      !status.ok())
    return status;
  DispatchedCall call;
  call.method = MethodOf(request);
  const c10::FunctionSchema* schema = servable().model->FindMethod(call.method);
  if (schema == nullptr) {
    return absl::NotFoundError(absl::StrCat("model '", servable().name, "' has no method '", call.method, "'"));
  }
  auto arguments = ReadCallArguments(*std::move(read), *schema);
  if (!arguments.ok()) return arguments.status();
  call.arguments = {std::move(arguments->args), std::move(arguments->kwargs)};
  call.queue.priority = request.priority();
  if (servable().queue_settings.batches() && call.method == "forward") {
    if (const auto key = BatchKeyOf(call.arguments)) call.rows = key->rows;
  }
  Keep(message, call.method);
  return call;
}

void NativeTask::KeepNothing() {
  if (recorded() != nullptr) recorded()->GiveUp();
  sample_ = nullptr;
  place_ = nullptr;
}

void NativeTask::Keep(const grpc::ByteBuffer& message, const std::string& method) try {
  place_ = servable().live_calls.TakePlace();
  if (place_ == nullptr && recorded() == nullptr) return;
  const size_t bytes = message.Length();
  if (bytes > LiveCalls::kMostBytes) place_ = nullptr;
  const bool records = recorded() != nullptr && recorded()->TakeRoom(bytes);
  if (place_ == nullptr && !records) return;
  // What is kept outlives the request, and has bounds of its own.
  const MemoryAccount::Scope nobody(nullptr);
  const grpc::ByteBuffer kept = servable().model->LeavesArguments(method) ? message : CopyOfMessage(message);
  if (records) recorded()->SetRequest(operation(), kept);
  if (place_ != nullptr) sample_ = std::make_unique<NativeSample>(method, kept);
} catch (const std::exception&) {
  KeepNothing();
}

absl::Status NativeTask::Encode(c10::IValue result, grpc::ByteBuffer& answer) try {
  google::protobuf::Arena arena;
  auto& response = *google::protobuf::Arena::CreateMessage<v1::CallResponse>(&arena);
  response.set_model(servable().name);
  response.set_version(version());
  response.set_id(id());
  std::vector<at::Tensor> payloads;
  const absl::Status status = ValueToMessage(result, "the result", *response.mutable_result(), payloads);
  // The caller can do nothing about what its model answers.
  if (!status.ok()) return absl::InternalError(status.message());
  // The payloads hold what they need; what they hold alone need not be copied.
  result = c10::IValue();
  SliceBuilder builder;
  response.AppendToString(&builder.text());
  for (at::Tensor& tensor : payloads) {
    builder.AddBytes(v1::CallResponse::kPayloadsFieldNumber, ReadyToSend(std::move(tensor)));
  }
  builder.Take().Swap(&answer);
  KeepAnswer(answer);
  return absl::OkStatus();
} catch (const std::bad_alloc&) {
  throw;
} catch (const ConversionEnded&) {
  throw;
} catch (const std::exception& error) {
  return absl::InternalError(absl::StrCat("the model's answer cannot be sent: ", error.what()));
}

void NativeTask::KeepAnswer(const grpc::ByteBuffer& answer) try {
  const MemoryAccount::Scope nobody(nullptr);
  if (recorded() != nullptr && recorded()->wants_answer()) recorded()->SetAnswer(answer);
  if (sample_ == nullptr) return;
  sample_->SetAnswer(answer);
  if (sample_->bytes() <= LiveCalls::kMostBytes) servable().live_calls.Leave(std::move(place_), std::move(sample_));
} catch (const std::exception&) {
  KeepNothing();
}

}  // namespace hearth::server
