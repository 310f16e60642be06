// GRPCInferenceService on gRPC's callback API, so that no thread waits for a request. Every method gets its message as
// the bytes that arrived, which are bounded and inflated here and not by gRPC: inferences as unary_call.h and
// stream_call.h have them, the others, which inference_methods.h describes, as message_call.h has them.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include "proto/inference/service.grpc.pb.h"
#include "server/api/call_environment.h"
#include "server/api/inference_methods.h"
#include "server/api/raw_methods.h"
#include "server/api/request_task.h"
#include "server/api/stream_call.h"

namespace hearth::server {

namespace raw_inference {

using Protocol = inference::GRPCInferenceService;
using Base = WithRawMethods<
    Protocol::Service, Protocol::WithRawCallbackMethod_ModelInfer, Protocol::WithRawCallbackMethod_ModelStreamInfer,
    Protocol::WithRawCallbackMethod_ServerLive, Protocol::WithRawCallbackMethod_ServerReady,
    Protocol::WithRawCallbackMethod_ServerMetadata, Protocol::WithRawCallbackMethod_ModelReady,
    Protocol::WithRawCallbackMethod_ModelMetadata, Protocol::WithRawCallbackMethod_ModelConfig,
    Protocol::WithRawCallbackMethod_ModelStatistics, Protocol::WithRawCallbackMethod_RepositoryIndex,
    Protocol::WithRawCallbackMethod_RepositoryModelLoad, Protocol::WithRawCallbackMethod_RepositoryModelUnload,
    Protocol::WithRawCallbackMethod_SystemSharedMemoryStatus,
    Protocol::WithRawCallbackMethod_SystemSharedMemoryRegister,
    Protocol::WithRawCallbackMethod_SystemSharedMemoryUnregister,
    Protocol::WithRawCallbackMethod_CudaSharedMemoryStatus, Protocol::WithRawCallbackMethod_CudaSharedMemoryRegister,
    Protocol::WithRawCallbackMethod_CudaSharedMemoryUnregister, Protocol::WithRawCallbackMethod_TraceSetting,
    Protocol::WithRawCallbackMethod_LogSettings>::Type;

}  // namespace raw_inference

class InferenceService final : public raw_inference::Base {
 public:
  // All outlive the service.
  InferenceService(const CallEnvironment& calls, const RequestEnvironment& environment, InferenceMethods& methods,
                   StreamRegistry& streams)
      : calls_(calls), environment_(environment), methods_(methods), streams_(streams) {}

  using Context = grpc::CallbackServerContext;
  using Buffer = grpc::ByteBuffer;

  grpc::ServerUnaryReactor* ModelInfer(Context* context, const Buffer* request, Buffer* response) override;
  grpc::ServerUnaryReactor* ServerLive(Context* context, const Buffer* request, Buffer* response) override;
  grpc::ServerUnaryReactor* ServerReady(Context* context, const Buffer* request, Buffer* response) override;
  grpc::ServerUnaryReactor* ServerMetadata(Context* context, const Buffer* request, Buffer* response) override;
  grpc::ServerUnaryReactor* ModelReady(Context* context, const Buffer* request, Buffer* response) override;
  grpc::ServerUnaryReactor* ModelMetadata(Context* context, const Buffer* request, Buffer* response) override;
  grpc::ServerUnaryReactor* ModelConfig(Context* context, const Buffer* request, Buffer* response) override;
  grpc::ServerUnaryReactor* ModelStatistics(Context* context, const Buffer* request, Buffer* response) override;
  grpc::ServerUnaryReactor* RepositoryIndex(Context* context, const Buffer* request, Buffer* response) override;
  grpc::ServerUnaryReactor* RepositoryModelLoad(Context* context, const Buffer* request, Buffer* response) override;
  grpc::ServerUnaryReactor* RepositoryModelUnload(Context* context, const Buffer* request, Buffer* response) override;
  grpc::ServerUnaryReactor* SystemSharedMemoryStatus(Context* context, const Buffer* request,
                                                     Buffer* response) override;
  grpc::ServerUnaryReactor* SystemSharedMemoryRegister(Context* context, const Buffer* request,
                                                       Buffer* response) override;
  grpc::ServerUnaryReactor* SystemSharedMemoryUnregister(Context* context, const Buffer* request,
                                                         Buffer* response) override;
  grpc::ServerUnaryReactor* CudaSharedMemoryStatus(Context* context, const Buffer* request, Buffer* response) override;
  grpc::ServerUnaryReactor* CudaSharedMemoryRegister(Context* context, const Buffer* request,
                                                     Buffer* response) override;
  grpc::ServerUnaryReactor* CudaSharedMemoryUnregister(Context* context, const Buffer* request,
                                                       Buffer* response) override;
  grpc::ServerUnaryReactor* TraceSetting(Context* context, const Buffer* request, Buffer* response) override;
  grpc::ServerUnaryReactor* LogSettings(Context* context, const Buffer* request, Buffer* response) override;
  grpc::ServerBidiReactor<Buffer, Buffer>* ModelStreamInfer(Context* context) override;

 private:
  const CallEnvironment& calls_;
  const RequestEnvironment& environment_;
  InferenceMethods& methods_;
  StreamRegistry& streams_;
};

}  // namespace hearth::server
