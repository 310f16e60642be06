#include "server/api/native_task.h"

#include <ATen/core/function_schema.h>
#include <google/protobuf/arena.h>

#include <exception>
#include <new>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/hearth.pb.h"
#include "server/api/recorded_message.h"
#include "server/api/slice_builder.h"
#include "server/api/split_message.h"
#include "wire/conversion_check.h"
#include "wire/message_from_value.h"
#include "wire/value_from_message.h"

namespace hearth::server {
namespace {

constexpr const char* kDefaultMethod = "forward";

// Each value is a message, or several: a list's items lie in one more, a dict's entries in one each.
constexpr SplitMessage::Parts kMostPartsOfCall = {.messages = 3 * ValueReader::kMostValues,
                                                  .texts = 2 * ValueReader::kMostValues};

// The arguments without self.
std::vector<const c10::Argument*> Formals(const c10::FunctionSchema& schema) {
  std::vector<const c10::Argument*> formals;
  for (size_t i = 1; i < schema.arguments().size(); ++i) formals.push_back(&schema.arguments()[i]);
  return formals;
}

absl::Status ReadArguments(const v1::CallRequest& request, const c10::FunctionSchema& schema, ValueReader& reader,
                           DispatchedCall& call) {
  const std::vector<const c10::Argument*> formals = Formals(schema);
  if (request.args_size() > static_cast<int>(formals.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat(schema.name(), " takes ", formals.size(), " arguments, got ", request.args_size()));
  }
  for (int i = 0; i < request.args_size(); ++i) {
    const c10::Argument& formal = *formals[i];
    auto value = reader.Read(request.args(i), formal.type(), absl::StrCat("argument '", formal.name(), "'"));
    if (!value.ok()) return value.status();
    call.arguments.args.push_back(*std::move(value));
  }
  std::set<std::string> known;
  for (const c10::Argument* formal : formals) {
    known.insert(formal->name());
    const auto given = request.kwargs().find(formal->name());
    if (given == request.kwargs().end()) continue;
    auto value = reader.Read(given->second, formal->type(), absl::StrCat("argument '", formal->name(), "'"));
    if (!value.ok()) return value.status();
    call.arguments.kwargs.emplace_back(formal->name(), *std::move(value));
  }
  for (const auto& [name, value] : request.kwargs()) {
    if (!known.contains(name)) {
      return absl::InvalidArgumentError(absl::StrCat(schema.name(), " has no argument '", name, "'"));
    }
  }
  return reader.CheckPayloads();
}

}  // namespace

bool NativeTask::IsShort(const grpc::ByteBuffer& message) const {
  return IsReadQuickly(message, v1::CallRequest::kPayloadsFieldNumber);
}

absl::StatusOr<DispatchedCall> NativeTask::Prepare(const grpc::ByteBuffer& message) {
  alignas(std::max_align_t) char memory[4096];
  google::protobuf::Arena arena(memory, sizeof(memory));
  auto& request = *google::protobuf::Arena::CreateMessage<v1::CallRequest>(&arena);
  auto split = SplitMessage::Of(message, v1::CallRequest::kPayloadsFieldNumber);
  absl::Status status = split.status();
  if (status.ok() && split->rest_size() > kMostFieldBytes) {
    status = absl::InvalidArgumentError(absl::StrCat(
        "it has ", split->rest_size(), " bytes beside its payloads; at most ", kMostFieldBytes, " are taken"));
  }
  if (status.ok()) status = split->CheckParts(*request.GetDescriptor(), kMostPartsOfCall);
  if (status.ok() && !split->ParseRest(request)) {
    status = absl::InvalidArgumentError(absl::StrCat("a field is not as it should be, or values nest deeper than ",
                                                     ValueReader::kDeepestValue, " levels"));
  }
  if (!status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("the request is not a hearth.v1.CallRequest: ", status.message()));
  }
  status = Identify(request.model(), request.version(), request.id());
  if (!status.ok()) return status;

  DispatchedCall call;
  call.method = request.method().empty() ? kDefaultMethod : request.method();
  const c10::FunctionSchema* schema = servable().model->FindMethod(call.method);
  if (schema == nullptr) {
    return absl::NotFoundError(absl::StrCat("model '", servable().name, "' has no method '", call.method, "'"));
  }
  ValueReader reader(split->TakeRaw());
  status = ReadArguments(request, *schema, reader, call);
  if (!status.ok()) return status;
  if (recorded() != nullptr) Record(message, call.method);
  return call;
}

void NativeTask::Record(const grpc::ByteBuffer& message, const std::string& method) {
  if (!recorded()->TakeRoom(message.Length())) return;
  recorded()->SetRequest(operation(), servable().model->LeavesArguments(method) ? message : CopyOfMessage(message));
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
  if (recorded() != nullptr && recorded()->wants_answer()) recorded()->SetAnswer(answer);
  return absl::OkStatus();
} catch (const std::bad_alloc&) {
  throw;
} catch (const ConversionEnded&) {
  throw;
} catch (const std::exception& error) {
  return absl::InternalError(absl::StrCat("the model's answer cannot be sent: ", error.what()));
}

}  // namespace hearth::server
