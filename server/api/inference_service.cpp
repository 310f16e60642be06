#include "server/api/inference_service.h"

#include <memory>
#include <utility>

#include "server/api/inflate.h"
#include "server/api/message_call.h"
#include "server/api/message_infer_task.h"
#include "server/api/unary_call.h"

namespace hearth::server {
namespace {

// A configuration in JSON has a mebibyte at most (config_limits.h); its escapes are part of the text.
constexpr MessageBounds kLoadBounds = {.bytes = (1 << 20) + (64 << 10)};

// Answers with what the method, which may change something or not, says at once.
template <typename Request, typename Response, typename Methods>
grpc::ServerUnaryReactor* StartAtOnce(const RawCall& call, Methods& methods, auto method) {
  return StartMethodCall<Request, Response>(
      call, [&methods, method](const Request& request, Response& response, const InferenceMethods::Done& done) {
        done((methods.*method)(request, response));
      });
}

template <typename Request, typename Response>
grpc::ServerUnaryReactor* AtOnce(const RawCall& call, const InferenceMethods& methods,
                                 absl::Status (InferenceMethods::*method)(const Request&, Response&) const) {
  return StartAtOnce<Request, Response, const InferenceMethods>(call, methods, method);
}

template <typename Request, typename Response>
grpc::ServerUnaryReactor* AtOnce(const RawCall& call, InferenceMethods& methods,
                                 absl::Status (InferenceMethods::*method)(const Request&, Response&)) {
  return StartAtOnce<Request, Response, InferenceMethods>(call, methods, method);
}

// Answers when the method calls back.
template <typename Request, typename Response>
grpc::ServerUnaryReactor* Later(const RawCall& call, InferenceMethods& methods,
                                void (InferenceMethods::*method)(const Request&, Response&, InferenceMethods::Done)) {
  return StartMethodCall<Request, Response>(
      call, [&methods, method](const Request& request, Response& response, InferenceMethods::Done done) {
        (methods.*method)(request, response, std::move(done));
      });
}

}  // namespace

grpc::ServerUnaryReactor* InferenceService::ServerLive(Context* context, const Buffer* request, Buffer* response) {
  return AtOnce({calls_, context, request, response}, methods_, &InferenceMethods::ServerLive);
}

grpc::ServerUnaryReactor* InferenceService::ServerReady(Context* context, const Buffer* request, Buffer* response) {
  return AtOnce({calls_, context, request, response}, methods_, &InferenceMethods::ServerReady);
}

grpc::ServerUnaryReactor* InferenceService::ServerMetadata(Context* context, const Buffer* request, Buffer* response) {
  return AtOnce({calls_, context, request, response}, methods_, &InferenceMethods::ServerMetadata);
}

grpc::ServerUnaryReactor* InferenceService::ModelReady(Context* context, const Buffer* request, Buffer* response) {
  return AtOnce({calls_, context, request, response}, methods_, &InferenceMethods::ModelReady);
}

grpc::ServerUnaryReactor* InferenceService::ModelMetadata(Context* context, const Buffer* request, Buffer* response) {
  return Later({calls_, context, request, response}, methods_, &InferenceMethods::ModelMetadata);
}

grpc::ServerUnaryReactor* InferenceService::ModelConfig(Context* context, const Buffer* request, Buffer* response) {
  return Later({calls_, context, request, response}, methods_, &InferenceMethods::ModelConfig);
}

grpc::ServerUnaryReactor* InferenceService::ModelStatistics(Context* context, const Buffer* request, Buffer* response) {
  return Later({calls_, context, request, response}, methods_, &InferenceMethods::ModelStatistics);
}

grpc::ServerUnaryReactor* InferenceService::RepositoryIndex(Context* context, const Buffer* request, Buffer* response) {
  return Later({calls_, context, request, response}, methods_, &InferenceMethods::RepositoryIndex);
}

grpc::ServerUnaryReactor* InferenceService::RepositoryModelLoad(Context* context, const Buffer* request,
                                                                Buffer* response) {
  using Request = inference::RepositoryModelLoadRequest;
  using Response = inference::RepositoryModelLoadResponse;
  const auto load = [this](Request& message, Response& answer, InferenceMethods::Done done) {
    methods_.RepositoryModelLoad(std::move(message), answer, std::move(done));
  };
  MessageBounds bounds = kLoadBounds;
  // It may carry files; what is not to be inflated also where it then hears that it may not.
  if (environment_.repository.takes_client_files() || CompressionOf(*request) == Compression::kNone) {
    bounds.bytes = environment_.max_request_bytes;
  }
  return StartMethodCall<Request, Response>({calls_, context, request, response}, load, bounds,
                                            &environment_.dispatcher);
}

grpc::ServerUnaryReactor* InferenceService::RepositoryModelUnload(Context* context, const Buffer* request,
                                                                  Buffer* response) {
  return Later({calls_, context, request, response}, methods_, &InferenceMethods::RepositoryModelUnload);
}

grpc::ServerUnaryReactor* InferenceService::SystemSharedMemoryStatus(Context* context, const Buffer* request,
                                                                     Buffer* response) {
  return AtOnce({calls_, context, request, response}, methods_, &InferenceMethods::SystemSharedMemoryStatus);
}

grpc::ServerUnaryReactor* InferenceService::SystemSharedMemoryRegister(Context* context, const Buffer* request,
                                                                       Buffer* response) {
  return AtOnce({calls_, context, request, response}, methods_, &InferenceMethods::SystemSharedMemoryRegister);
}

grpc::ServerUnaryReactor* InferenceService::SystemSharedMemoryUnregister(Context* context, const Buffer* request,
                                                                         Buffer* response) {
  return AtOnce({calls_, context, request, response}, methods_, &InferenceMethods::SystemSharedMemoryUnregister);
}

grpc::ServerUnaryReactor* InferenceService::CudaSharedMemoryStatus(Context* context, const Buffer* request,
                                                                   Buffer* response) {
  return AtOnce({calls_, context, request, response}, methods_, &InferenceMethods::CudaSharedMemoryStatus);
}

grpc::ServerUnaryReactor* InferenceService::CudaSharedMemoryRegister(Context* context, const Buffer* request,
                                                                     Buffer* response) {
  return AtOnce({calls_, context, request, response}, methods_, &InferenceMethods::CudaSharedMemoryRegister);
}

grpc::ServerUnaryReactor* InferenceService::CudaSharedMemoryUnregister(Context* context, const Buffer* request,
                                                                       Buffer* response) {
  return AtOnce({calls_, context, request, response}, methods_, &InferenceMethods::CudaSharedMemoryUnregister);
}

grpc::ServerUnaryReactor* InferenceService::TraceSetting(Context* context, const Buffer* request, Buffer* response) {
  return AtOnce({calls_, context, request, response}, methods_, &InferenceMethods::TraceSetting);
}

grpc::ServerUnaryReactor* InferenceService::LogSettings(Context* context, const Buffer* request, Buffer* response) {
  return AtOnce({calls_, context, request, response}, methods_, &InferenceMethods::LogSettings);
}

grpc::ServerUnaryReactor* InferenceService::ModelInfer(Context* context, const Buffer* request, Buffer* response) {
  auto task = std::make_shared<MessageInferTask>(environment_, MessageInferTask::Form::kUnary);
  return StartUnaryCall(std::move(task), {calls_, context, request, response});
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* InferenceService::ModelStreamInfer(Context* context) {
  return StartStreamCall(calls_, environment_, streams_, context);
}

}  // namespace hearth::server
