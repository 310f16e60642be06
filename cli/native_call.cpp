#include "cli/native_call.h"

#include <cstdio>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/failure.h"
#include "cli/json.h"
#include "cli/session.h"
#include "cli/text.h"
#include "cli/value_summary.h"
#include "proto/hearth.grpc.pb.h"
#include "wire/message_from_value.h"
#include "wire/value_from_message.h"

namespace hearth::cli {
namespace {

constexpr const char* kNativeInfer = "infer";

absl::StatusOr<v1::CallRequest> MakeRequest(const ServerOptions& server, const NativeCallOptions& options) {
  const auto inputs = ReadInputs(options.inputs);
  if (!inputs.ok()) return inputs.status();
  v1::CallRequest request;
  request.set_model(server.model);
  request.set_version(server.version);
  request.set_method(options.method);
  std::vector<at::Tensor> payloads;
  for (size_t i = 0; i < inputs->args.size(); ++i) {
    const absl::Status status =
        ValueToMessage(inputs->args[i], absl::StrCat("args[", i, "]"), *request.add_args(), payloads);
    if (!status.ok()) return status;
  }
  for (const auto& [name, value] : inputs->kwargs) {
    const absl::Status status =
        ValueToMessage(value, absl::StrCat("kwargs['", name, "']"), (*request.mutable_kwargs())[name], payloads);
    if (!status.ok()) return status;
  }
  for (const at::Tensor& payload : payloads) {
    const at::Tensor tensor = ReadyToSend(payload);
    request.add_payloads(tensor.const_data_ptr(), tensor.nbytes());
  }
  return request;
}

absl::StatusOr<c10::IValue> ReadResult(const v1::CallResponse& response) {
  std::vector<RawBytes> payloads;
  for (const std::string& payload : response.payloads()) payloads.push_back(RawBytes::Of(payload));
  return ValueReader(std::move(payloads)).ReadWithoutSchema(response.result(), "the server's answer");
}

std::string ArgumentText(const v1::Method::Argument& argument) {
  std::string text = absl::StrCat(argument.name(), ": ", argument.type());
  if (!argument.has_default_value()) return text;
  const auto value = ValueReader({}).ReadWithoutSchema(argument.default_value(), "default");
  std::ostringstream shown;
  if (value.ok()) shown << *value;
  return absl::StrCat(text, " = ", value.ok() ? shown.str() : "...");
}

std::string MethodText(const v1::Method& method) {
  std::vector<std::string> arguments;
  for (const v1::Method::Argument& argument : method.arguments()) arguments.push_back(ArgumentText(argument));
  return absl::StrCat(method.name(), "(", absl::StrJoin(arguments, ", "), ") -> ", method.return_type(), "\n");
}

Json MethodMessageToJson(const v1::Method& method) {
  Json arguments = Json::array();
  for (const v1::Method::Argument& argument : method.arguments()) {
    Json json = {{"name", argument.name()}, {"type", argument.type()}};
    if (argument.has_default_value()) {
      const auto value = ValueReader({}).ReadWithoutSchema(argument.default_value(), "default");
      if (value.ok()) json["default"] = ValueToJson(*value);
    }
    arguments.push_back(std::move(json));
  }
  return {{"name", method.name()}, {"arguments", std::move(arguments)}, {"returns", method.return_type()}};
}

}  // namespace

int CallMethod(const ServerOptions& server, const NativeCallOptions& options) {
  const auto request = MakeRequest(server, options);
  if (!request.ok()) return FailWithLine(kNativeInfer, MessageOf(request.status()));
  const auto connection = Connection::Open(server);
  if (!connection.ok()) return FailWithLine(kNativeInfer, MessageOf(connection.status()));
  const auto stub = v1::ModelService::NewStub(connection->channel());
  v1::CallResponse response;
  const absl::Status status = connection->Call(*stub, &v1::ModelService::Stub::Call, *request, response);
  if (!status.ok()) return FailWithStatus(kNativeInfer, status);
  const auto result = ReadResult(response);
  if (!result.ok()) return FailWithLine(kNativeInfer, MessageOf(result.status()));
  if (!options.output.empty()) {
    const absl::Status written = WriteAnswer(*result, options.output);
    if (!written.ok()) return FailWithLine(kNativeInfer, MessageOf(written));
  }
  if (options.json) {
    PrintJson({{"model", response.model()},
               {"version", response.version()},
               {"method", options.method},
               {"type", result->type()->annotation_str()},
               {"value", ValueToJson(*result)}});
  } else if (options.output.empty()) {
    std::fputs(SummarizeValue(*result).c_str(), stdout);
  }
  return kSuccess;
}

absl::StatusOr<v1::ListMethodsResponse> AskForMethods(const ServerOptions& server) {
  const auto connection = Connection::Open(server);
  if (!connection.ok()) return connection.status();
  const auto stub = v1::ModelService::NewStub(connection->channel());
  v1::ListMethodsRequest request;
  request.set_model(server.model);
  request.set_version(server.version);
  v1::ListMethodsResponse response;
  const absl::Status status = connection->Call(*stub, &v1::ModelService::Stub::ListMethods, request, response);
  if (!status.ok()) return status;
  return response;
}

int ListMethods(const ServerOptions& server, bool json) {
  const auto listed = AskForMethods(server);
  if (!listed.ok()) return FailWithStatus(kNativeInfer, listed.status());
  if (json) {
    Json methods = Json::array();
    for (const v1::Method& method : listed->methods()) methods.push_back(MethodMessageToJson(method));
    PrintJson({{"model", listed->model()}, {"version", listed->version()}, {"methods", std::move(methods)}});
    return kSuccess;
  }
  for (const v1::Method& method : listed->methods()) std::fputs(MethodText(method).c_str(), stdout);
  return kSuccess;
}

}  // namespace hearth::cli
