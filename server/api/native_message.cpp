#include "server/api/native_message.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/api/split_message.h"
#include "wire/value_from_message.h"

namespace hearth::server {
namespace {

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
                           BoundArguments& call) {
  const std::vector<const c10::Argument*> formals = Formals(schema);
  if (request.args_size() > static_cast<int>(formals.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat(schema.name(), " takes ", formals.size(), " arguments, got ", request.args_size()));
  }
  for (int i = 0; i < request.args_size(); ++i) {
    const c10::Argument& formal = *formals[i];
    auto value = reader.Read(request.args(i), formal.type(), absl::StrCat("argument '", formal.name(), "'"));
    if (!value.ok()) return value.status();
    call.args.push_back(*std::move(value));
  }
  std::set<std::string> known;
  for (size_t i = 0; i < formals.size(); ++i) {
    const c10::Argument& formal = *formals[i];
    known.insert(formal.name());
    const auto given = request.kwargs().find(formal.name());
    if (given == request.kwargs().end()) continue;
    auto value = reader.Read(given->second, formal.type(), absl::StrCat("argument '", formal.name(), "'"));
    if (!value.ok()) return value.status();
    if (i == call.args.size() && !formal.kwarg_only()) {
      call.args.push_back(*std::move(value));
    } else {
      call.kwargs.emplace_back(formal.name(), *std::move(value));
    }
  }
  for (const auto& [name, value] : request.kwargs()) {
    if (!known.contains(name)) {
      return absl::InvalidArgumentError(absl::StrCat(schema.name(), " has no argument '", name, "'"));
    }
  }
  return reader.CheckPayloads();
}

}  // namespace

absl::StatusOr<NativeMessage> ParseCallRequest(const grpc::ByteBuffer& message, google::protobuf::Arena& arena) {
  auto& request = *google::protobuf::Arena::CreateMessage<v1::CallRequest>(&arena);
  auto split = SplitMessage::Of(message, v1::CallRequest::kPayloadsFieldNumber);
  absl::Status status = split.status();
  if (status.ok() && split->rest_size() > kMostNativeFieldBytes) {
    status = absl::InvalidArgumentError(absl::StrCat(
        "it has ", split->rest_size(), " bytes beside its payloads; at most ", kMostNativeFieldBytes, " are taken"));
  }
  if (status.ok()) status = split->CheckParts(*request.GetDescriptor(), kMostPartsOfCall);
  if (status.ok() && !split->ParseRest(request)) {
    status = absl::InvalidArgumentError(absl::StrCat("a field is not as it should be, or values nest deeper than ",
                                                     ValueReader::kDeepestValue, " levels"));
  }
  if (!status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("the request is not a hearth.v1.CallRequest: ", status.message()));
  }
  return NativeMessage{&request, split->TakeRaw()};
}

std::string MethodOf(const v1::CallRequest& request) { return request.method().empty() ? "forward" : request.method(); }

absl::StatusOr<BoundArguments> ReadCallArguments(NativeMessage message, const c10::FunctionSchema& schema) {
  ValueReader reader(std::move(message.payloads));
  BoundArguments call;
  absl::Status status = ReadArguments(*message.request, schema, reader, call);
  if (!status.ok()) return status;
  return call;
}

}  // namespace hearth::server
