// GRPCInferenceService: every method on gRPC's callback API, so that no thread waits for a request. Inference passes
// raw bytes (unary_call.h, stream_call.h); what the other methods do is said in inference_methods.h.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include "proto/inference/service.grpc.pb.h"
#include "server/api/inference_methods.h"
#include "server/api/request_task.h"
#include "server/api/stream_call.h"

namespace hearth::server {

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
  InferenceService(const RequestEnvironment& environment, InferenceMethods& methods, StreamRegistry& streams)
      : environment_(environment), methods_(methods), streams_(streams) {}

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
  InferenceMethods& methods_;
  StreamRegistry& streams_;
};

}  // namespace hearth::server
