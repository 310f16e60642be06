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

v1::Plan::State StateOf(PlanInfo::State state) {
  switch (state) {
    case PlanInfo::State::kCold:
      return v1::Plan::COLD;
    case PlanInfo::State::kQueued:
      return v1::Plan::QUEUED;
    case PlanInfo::State::kCompiled:
      return v1::Plan::COMPILED;
    case PlanInfo::State::kFailed:
      return v1::Plan::FAILED;
    case PlanInfo::State::kDeoptimised:
      return v1::Plan::DEOPTIMISED;
  }
  return v1::Plan::COLD;
}

absl::Status ListPlansOf(const Repository& repository, const v1::ListPlansRequest& request,
                         v1::ListPlansResponse& response) {
  const auto servable = repository.Find(request.model(), request.version());
  if (!servable.ok()) return servable.status();
  response.set_model((*servable)->name);
  response.set_version(std::to_string((*servable)->version));
  for (PlanInfo& plan : (*servable)->model->plans(request.graphs())) {
    v1::Plan& out = *response.add_plans();
    out.set_method(std::move(plan.method));
    out.set_arguments(std::move(plan.arguments));
    out.set_state(StateOf(plan.state));
    out.set_calls(plan.calls);
    out.set_compile_seconds(std::chrono::duration<double>(plan.compile_time).count());
    out.set_bytes(plan.bytes);
    out.set_guards(plan.guards);
    out.set_bailouts(plan.bailouts);
    out.set_guard_failures(plan.guard_failures);
    out.set_model_exceptions(plan.model_exceptions);
    out.set_plan_exceptions(plan.plan_exceptions);
    out.set_recording(std::move(plan.recording));
    for (PlanException& exception : plan.exceptions) {
      v1::Plan::Exception& told = *out.add_exceptions();
      told.set_operator_(std::move(exception.op));
      told.set_node(std::move(exception.node));
      told.set_where(std::move(exception.where));
      told.set_text(std::move(exception.text));
      told.set_runs(exception.runs);
    }
    out.set_graph(std::move(plan.graph));
    out.set_tier(plan.tier);
    out.set_sizes(std::move(plan.sizes));
    for (GuardedClaim& claim : plan.claims) {
      v1::Plan::Claim& told = *out.add_claims();
      told.set_text(std::move(claim.text));
      told.set_where(std::move(claim.where));
      told.set_failures(claim.failures);
    }
  }
  for (CompilationInfo& compilation : (*servable)->model->compilations()) {
    v1::Compilation& out = *response.add_compiling();
    out.set_method(std::move(compilation.method));
    out.set_stage(std::move(compilation.stage));
    out.set_pass(std::move(compilation.pass));
    out.set_seconds(compilation.since_start.count());
    out.set_resting(compilation.resting);
  }
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

grpc::ServerUnaryReactor* NativeService::Warm(Context* context, const Buffer* request, Buffer* response) {
  return StartWarmCall({calls_, context, request, response}, environment_.repository);
}

}  // namespace hearth::server
