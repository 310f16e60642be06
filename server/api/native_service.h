// hearth.v1.ModelService beside the Open Inference Protocol: calls go the same way (request_task.h); a model's methods
// are told from its schemas, and its plans from its caches, on the runtime's pool; whoever waits for plans
// (warm_call.h) or records requests (record_call.h) takes no thread.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include "proto/hearth.grpc.pb.h"
#include "server/api/call_environment.h"
#include "server/api/raw_methods.h"
#include "server/api/request_task.h"

namespace hearth::server {

using NativeServiceBase =
    WithRawMethods<v1::ModelService::Service, v1::ModelService::WithRawCallbackMethod_Call,
                   v1::ModelService::WithRawCallbackMethod_ListMethods,
                   v1::ModelService::WithRawCallbackMethod_ListPlans, v1::ModelService::WithRawCallbackMethod_Profile,
                   v1::ModelService::WithRawCallbackMethod_Record, v1::ModelService::WithRawCallbackMethod_Warm>::Type;

class NativeService final : public NativeServiceBase {
 public:
  // Both outlive the service.
  NativeService(const CallEnvironment& calls, const RequestEnvironment& environment)
      : calls_(calls), environment_(environment) {}

  using Context = grpc::CallbackServerContext;
  using Buffer = grpc::ByteBuffer;

  grpc::ServerUnaryReactor* Call(Context* context, const Buffer* request, Buffer* response) override;
  grpc::ServerUnaryReactor* ListMethods(Context* context, const Buffer* request, Buffer* response) override;
  grpc::ServerUnaryReactor* ListPlans(Context* context, const Buffer* request, Buffer* response) override;
  grpc::ServerUnaryReactor* Profile(Context* context, const Buffer* request, Buffer* response) override;
  grpc::ServerWriteReactor<Buffer>* Record(Context* context, const Buffer* request) override;
  grpc::ServerUnaryReactor* Warm(Context* context, const Buffer* request, Buffer* response) override;

 private:
  const CallEnvironment& calls_;
  const RequestEnvironment& environment_;
};

}  // namespace hearth::server
