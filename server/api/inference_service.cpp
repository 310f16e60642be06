#include "server/api/inference_service.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/support/version.h"
#include "server/api/infer_task.h"
#include "server/api/model_messages.h"
#include "server/api/status.h"
#include "server/api/unary_call.h"

namespace hearth::server {
namespace {

// Extensions of the protocol, under Triton's names, that work here.
constexpr const char* kExtensions[] = {"model_repository", "model_configuration", "statistics"};
constexpr const char* kServerName = "hearth";

grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, const absl::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpc(status));
  return reactor;
}

// A repository's name in a request can only be the one that all roots together are.
absl::Status CheckRepositoryName(const std::string& name) {
  if (name.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("repository_name is '", name, "'; this server has one unnamed repository, leave it empty"));
}

}  // namespace

grpc::ServerUnaryReactor* InferenceService::ServerLive(grpc::CallbackServerContext* context,
                                                       const inference::ServerLiveRequest*,
                                                       inference::ServerLiveResponse* response) {
  response->set_live(true);
  return Answer(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* InferenceService::ServerReady(grpc::CallbackServerContext* context,
                                                        const inference::ServerReadyRequest*,
                                                        inference::ServerReadyResponse* response) {
  response->set_ready(readiness_.Ready(repository_));
  return Answer(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* InferenceService::ModelReady(grpc::CallbackServerContext* context,
                                                       const inference::ModelReadyRequest* request,
                                                       inference::ModelReadyResponse* response) {
  const auto found = repository_.Find(request->name(), request->version());
  if (absl::IsInvalidArgument(found.status())) return Answer(context, found.status());
  response->set_ready(found.ok() && !readiness_.draining);
  return Answer(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* InferenceService::ServerMetadata(grpc::CallbackServerContext* context,
                                                           const inference::ServerMetadataRequest*,
                                                           inference::ServerMetadataResponse* response) {
  response->set_name(kServerName);
  response->set_version(kVersion);
  for (const char* extension : kExtensions) response->add_extensions(extension);
  return Answer(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* InferenceService::ModelMetadata(grpc::CallbackServerContext* context,
                                                          const inference::ModelMetadataRequest* request,
                                                          inference::ModelMetadataResponse* response) {
  const auto found = repository_.Find(request->name(), request->version());
  if (found.ok()) *response = DescribeModel(**found, repository_.ServedVersions(request->name()));
  return Answer(context, found.status());
}

grpc::ServerUnaryReactor* InferenceService::ModelConfig(grpc::CallbackServerContext* context,
                                                        const inference::ModelConfigRequest* request,
                                                        inference::ModelConfigResponse* response) {
  const auto found = repository_.Find(request->name(), request->version());
  if (found.ok()) *response->mutable_config() = (*found)->config;
  return Answer(context, found.status());
}

grpc::ServerUnaryReactor* InferenceService::ModelStatistics(grpc::CallbackServerContext* context,
                                                            const inference::ModelStatisticsRequest* request,
                                                            inference::ModelStatisticsResponse* response) {
  if (!request->name().empty()) {
    const auto found = repository_.Find(request->name(), request->version());
    if (!found.ok()) return Answer(context, found.status());
  }
  for (const ServablePtr& servable : repository_.Serving()) {
    const bool wanted = request->name().empty() || request->name() == servable->name;
    const bool wanted_version = request->version().empty() || request->version() == std::to_string(servable->version);
    if (wanted && wanted_version) *response->add_model_stats() = DescribeStatistics(*servable);
  }
  return Answer(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* InferenceService::RepositoryIndex(grpc::CallbackServerContext* context,
                                                            const inference::RepositoryIndexRequest* request,
                                                            inference::RepositoryIndexResponse* response) {
  if (absl::Status status = CheckRepositoryName(request->repository_name()); !status.ok()) {
    return Answer(context, status);
  }
  for (IndexEntry& entry : repository_.Index(request->ready())) {
    auto* model = response->add_models();
    model->set_name(std::move(entry.name));
    model->set_version(std::move(entry.version));
    model->set_state(ModelStateName(entry.state));
    model->set_reason(std::move(entry.reason));
  }
  return Answer(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* InferenceService::RepositoryModelLoad(grpc::CallbackServerContext* context,
                                                                const inference::RepositoryModelLoadRequest* request,
                                                                inference::RepositoryModelLoadResponse*) {
  absl::Status status = CheckRepositoryName(request->repository_name());
  std::optional<std::string> config;
  for (const auto& [key, value] : request->parameters()) {
    if (key == "config") {
      config = value.string_param();
    } else if (status.ok()) {
      status = absl::InvalidArgumentError(
          absl::StrCat("a load with the parameter '", key, "' is not offered; models are loaded from the repository"));
    }
  }
  if (status.ok() && readiness_.draining) status = absl::UnavailableError("the server is shutting down");
  if (!status.ok()) return Answer(context, status);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  repository_.Load(request->model_name(), std::move(config),
                   [reactor](absl::Status loaded) { reactor->Finish(ToGrpc(loaded)); });
  return reactor;
}

grpc::ServerUnaryReactor* InferenceService::RepositoryModelUnload(
    grpc::CallbackServerContext* context, const inference::RepositoryModelUnloadRequest* request,
    inference::RepositoryModelUnloadResponse*) {
  absl::Status status = CheckRepositoryName(request->repository_name());
  if (!status.ok()) return Answer(context, status);
  // The parameter unload_dependents is about ensembles: without any, there is nothing more to unload.
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  repository_.Unload(request->model_name(), [reactor](absl::Status unloaded) { reactor->Finish(ToGrpc(unloaded)); });
  return reactor;
}

grpc::ServerUnaryReactor* InferenceService::ModelInfer(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  auto task = std::make_shared<InferTask>(environment_, InferTask::Form::kUnary);
  return StartUnaryCall(std::move(task), environment_, context, request, response);
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* InferenceService::ModelStreamInfer(
    grpc::CallbackServerContext* context) {
  return StartStreamCall(environment_, streams_, context);
}

}  // namespace hearth::server
