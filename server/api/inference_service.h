// GRPCInferenceService: every method on gRPC's callback API, so that no thread waits for a request. Inference passes
// raw bytes (unary_call.h, stream_call.h); the rest are short look-ups answered on gRPC's own threads, except for loads
// and unloads, which are answered from the repository's.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <string>

#include "proto/inference/service.grpc.pb.h"
#include "server/api/request_task.h"
#include "server/api/stream_call.h"
#include "server/repository/repository.h"

namespace hearth::server {

// Whether the server as a whole takes requests; shared by every API.
struct Readiness {
  bool strict = false;  // a model that failed to load makes the server not ready
  std::atomic<bool> draining{false};

  bool Ready(const Repository& repository) const {
    return !draining && (strict ? repository.AllReady() : repository.started());
  }
};

using InferenceServiceBase = inference::GRPCInferenceService::WithRawCallbackMethod_ModelInfer<
    inference::GRPCInferenceService::WithRawCallbackMethod_ModelStreamInfer<
        inference::GRPCInferenceService::WithCallbackMethod_ServerLive<
            inference::GRPCInferenceService::WithCallbackMethod_ServerReady<
                inference::GRPCInferenceService::WithCallbackMethod_ModelReady<
                    inference::GRPCInferenceService::WithCallbackMethod_ServerMetadata<
                        inference::GRPCInferenceService::WithCallbackMethod_ModelMetadata<
                            inference::GRPCInferenceService::WithCallbackMethod_ModelConfig<
                                inference::GRPCInferenceService::WithCallbackMethod_ModelStatistics<
                                    inference::GRPCInferenceService::WithCallbackMethod_RepositoryIndex<
                                        inference::GRPCInferenceService::WithCallbackMethod_RepositoryModelLoad<
                                            inference::GRPCInferenceService::WithCallbackMethod_RepositoryModelUnload<
                                                inference::GRPCInferenceService::Service>>>>>>>>>>>>;

class InferenceService final : public InferenceServiceBase {
 public:
  // All outlive the service.
  InferenceService(const RequestEnvironment& environment, Repository& repository, const Readiness& readiness,
                   StreamRegistry& streams)
      : environment_(environment), repository_(repository), readiness_(readiness), streams_(streams) {}

  grpc::ServerUnaryReactor* ServerLive(grpc::CallbackServerContext* context,
                                       const inference::ServerLiveRequest* request,
                                       inference::ServerLiveResponse* response) override;
  grpc::ServerUnaryReactor* ServerReady(grpc::CallbackServerContext* context,
                                        const inference::ServerReadyRequest* request,
                                        inference::ServerReadyResponse* response) override;
  grpc::ServerUnaryReactor* ModelReady(grpc::CallbackServerContext* context,
                                       const inference::ModelReadyRequest* request,
                                       inference::ModelReadyResponse* response) override;
  grpc::ServerUnaryReactor* ServerMetadata(grpc::CallbackServerContext* context,
                                           const inference::ServerMetadataRequest* request,
                                           inference::ServerMetadataResponse* response) override;
  grpc::ServerUnaryReactor* ModelMetadata(grpc::CallbackServerContext* context,
                                          const inference::ModelMetadataRequest* request,
                                          inference::ModelMetadataResponse* response) override;
  grpc::ServerUnaryReactor* ModelConfig(grpc::CallbackServerContext* context,
                                        const inference::ModelConfigRequest* request,
                                        inference::ModelConfigResponse* response) override;
  grpc::ServerUnaryReactor* ModelStatistics(grpc::CallbackServerContext* context,
                                            const inference::ModelStatisticsRequest* request,
                                            inference::ModelStatisticsResponse* response) override;
  grpc::ServerUnaryReactor* RepositoryIndex(grpc::CallbackServerContext* context,
                                            const inference::RepositoryIndexRequest* request,
                                            inference::RepositoryIndexResponse* response) override;
  grpc::ServerUnaryReactor* RepositoryModelLoad(grpc::CallbackServerContext* context,
                                                const inference::RepositoryModelLoadRequest* request,
                                                inference::RepositoryModelLoadResponse* response) override;
  grpc::ServerUnaryReactor* RepositoryModelUnload(grpc::CallbackServerContext* context,
                                                  const inference::RepositoryModelUnloadRequest* request,
                                                  inference::RepositoryModelUnloadResponse* response) override;
  grpc::ServerUnaryReactor* ModelInfer(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* ModelStreamInfer(
      grpc::CallbackServerContext* context) override;

 private:
  const RequestEnvironment& environment_;
  Repository& repository_;
  const Readiness& readiness_;
  StreamRegistry& streams_;
};

}  // namespace hearth::server
