#include "server/api/inference_service.h"

#include <memory>
#include <utility>

#include "server/api/guarded.h"
#include "server/api/message_infer_task.h"
#include "server/api/status.h"
#include "server/api/unary_call.h"

namespace hearth::server {
namespace {

// Answers with what `method` says at once.
template <typename Method>
grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, Method method) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpc(Guarded(method)));
  return reactor;
}

// Answers when `method` calls what it is given.
template <typename Method>
grpc::ServerUnaryReactor* AnswerLater(grpc::CallbackServerContext* context, Method method) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  method([reactor](absl::Status status) { reactor->Finish(ToGrpc(status)); });
  return reactor;
}

}  // namespace

grpc::ServerUnaryReactor* InferenceService::ServerLive(grpc::CallbackServerContext* context,
                                                       const inference::ServerLiveRequest* request,
                                                       inference::ServerLiveResponse* response) {
  return Answer(context, [&] { return methods_.ServerLive(*request, *response); });
}

grpc::ServerUnaryReactor* InferenceService::ServerReady(grpc::CallbackServerContext* context,
                                                        const inference::ServerReadyRequest* request,
                                                        inference::ServerReadyResponse* response) {
  return Answer(context, [&] { return methods_.ServerReady(*request, *response); });
}

grpc::ServerUnaryReactor* InferenceService::ModelReady(grpc::CallbackServerContext* context,
                                                       const inference::ModelReadyRequest* request,
                                                       inference::ModelReadyResponse* response) {
  return Answer(context, [&] { return methods_.ModelReady(*request, *response); });
}

grpc::ServerUnaryReactor* InferenceService::ServerMetadata(grpc::CallbackServerContext* context,
                                                           const inference::ServerMetadataRequest* request,
                                                           inference::ServerMetadataResponse* response) {
  return Answer(context, [&] { return methods_.ServerMetadata(*request, *response); });
}

grpc::ServerUnaryReactor* InferenceService::ModelMetadata(grpc::CallbackServerContext* context,
                                                          const inference::ModelMetadataRequest* request,
                                                          inference::ModelMetadataResponse* response) {
  return Answer(context, [&] { return methods_.ModelMetadata(*request, *response); });
}

grpc::ServerUnaryReactor* InferenceService::ModelConfig(grpc::CallbackServerContext* context,
                                                        const inference::ModelConfigRequest* request,
                                                        inference::ModelConfigResponse* response) {
  return Answer(context, [&] { return methods_.ModelConfig(*request, *response); });
}

grpc::ServerUnaryReactor* InferenceService::ModelStatistics(grpc::CallbackServerContext* context,
                                                            const inference::ModelStatisticsRequest* request,
                                                            inference::ModelStatisticsResponse* response) {
  return AnswerLater(
      context, [&](InferenceMethods::Done done) { methods_.ModelStatistics(*request, *response, std::move(done)); });
}

grpc::ServerUnaryReactor* InferenceService::RepositoryIndex(grpc::CallbackServerContext* context,
                                                            const inference::RepositoryIndexRequest* request,
                                                            inference::RepositoryIndexResponse* response) {
  return AnswerLater(
      context, [&](InferenceMethods::Done done) { methods_.RepositoryIndex(*request, *response, std::move(done)); });
}

grpc::ServerUnaryReactor* InferenceService::RepositoryModelLoad(grpc::CallbackServerContext* context,
                                                                const inference::RepositoryModelLoadRequest* request,
                                                                inference::RepositoryModelLoadResponse* response) {
  return AnswerLater(context, [&](InferenceMethods::Done done) {
    methods_.RepositoryModelLoad(*request, *response, std::move(done));
  });
}

grpc::ServerUnaryReactor* InferenceService::RepositoryModelUnload(
    grpc::CallbackServerContext* context, const inference::RepositoryModelUnloadRequest* request,
    inference::RepositoryModelUnloadResponse* response) {
  return AnswerLater(context, [&](InferenceMethods::Done done) {
    methods_.RepositoryModelUnload(*request, *response, std::move(done));
  });
}

grpc::ServerUnaryReactor* InferenceService::ModelInfer(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  auto task = std::make_shared<MessageInferTask>(environment_, MessageInferTask::Form::kUnary);
  return StartUnaryCall(std::move(task), environment_, context, request, response);
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* InferenceService::ModelStreamInfer(
    grpc::CallbackServerContext* context) {
  return StartStreamCall(environment_, streams_, context);
}

}  // namespace hearth::server
