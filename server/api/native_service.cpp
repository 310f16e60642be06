#include "server/api/native_service.h"

#include <ATen/core/function_schema.h>
#include <ATen/core/jit_type.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/api/elsewhere.h"
#include "server/api/message_call.h"
#include "server/api/native_task.h"
#include "server/api/plan_messages.h"
#include "server/api/profile_call.h"
#include "server/api/record_call.h"
#include "server/api/unary_call.h"
#include "server/api/warm_call.h"
#include "wire/message_from_value.h"

namespace hearth::server {
namespace {

absl::Status DescribeMethod(const MethodInfo& info, v1::Method& out) {
  const c10::FunctionSchema& schema = *info.schema;
  out.set_name(info.name);
  for (size_t i = 1; i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    v1::Method::Argument& described = *out.add_arguments();
    described.set_name(argument.name());
    described.set_type(argument.type()->annotation_str());
    if (!argument.default_value().has_value()) continue;
    std::vector<at::Tensor> no_payloads;
    const absl::Status status =
        ValueToMessage(*argument.default_value(), argument.name(), *described.mutable_default_value(), no_payloads);
    if (!status.ok()) return absl::InternalError(status.message());
  }
  if (!schema.returns().empty()) out.set_return_type(schema.returns()[0].type()->annotation_str());
  return absl::OkStatus();
}

absl::Status ListMethodsOf(const Repository& repository, const v1::ListMethodsRequest& request,
                           v1::ListMethodsResponse& response) {
  const auto servable = repository.Find(request.model(), request.version());
  if (!servable.ok()) return servable.status();
  response.set_model((*servable)->name);
  response.set_version(std::to_string((*servable)->version));
  for (const MethodInfo& method : (*servable)->model->methods()) {
    if (absl::Status status = DescribeMethod(method, *response.add_methods()); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status ListPlansOf(const Repository& repository, const v1::ListPlansRequest& request,
                         v1::ListPlansResponse& response) {
  const auto servable = repository.Find(request.model(), request.version());
  if (!servable.ok()) return servable.status();
  response = DescribePlans(**servable, request.graphs());
  return absl::OkStatus();
}

// Answers with what `list` writes, elsewhere.
template <typename Request, typename Response>
grpc::ServerUnaryReactor* StartList(const RawCall& raw, const RequestEnvironment& environment,
                                    absl::Status (*list)(const Repository&, const Request&, Response&)) {
  return StartMethodCall<Request, Response>(raw, [&environment, list](const Request& request, Response& response,
                                                                      std::function<void(absl::Status)> done) {
    auto work = [&environment, list, request, &response] { return list(environment.repository, request, response); };
    DoElsewhere(environment.dispatcher, std::move(work), std::move(done));
  });
}

}  // namespace

grpc::ServerUnaryReactor* NativeService::Call(Context* context, const Buffer* request, Buffer* response) {
  return StartUnaryCall(std::make_shared<NativeTask>(environment_), {calls_, context, request, response});
}

grpc::ServerUnaryReactor* NativeService::ListMethods(Context* context, const Buffer* request, Buffer* response) {
  return StartList({calls_, context, request, response}, environment_, ListMethodsOf);
}

grpc::ServerUnaryReactor* NativeService::ListPlans(Context* context, const Buffer* request, Buffer* response) {
  return StartList({calls_, context, request, response}, environment_, ListPlansOf);
}

grpc::ServerUnaryReactor* NativeService::Profile(Context* context, const Buffer* request, Buffer* response) {
  return StartProfileCall({calls_, context, request, response}, environment_);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* NativeService::Record(Context* context, const Buffer* request) {
  return StartRecordCall(calls_, environment_, context, request);
}

grpc::ServerUnaryReactor* NativeService::Warm(Context* context, const Buffer* request, Buffer* response) {
  return StartWarmCall({calls_, context, request, response}, environment_.repository);
}

}  // namespace hearth::server
