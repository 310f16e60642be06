// hearth.v1.ModelService beside the Open Inference Protocol: calls go the same way (request_task.h); a model's methods
// are told from its schemas, and its plans from its caches, on gRPC's own threads; whoever waits for plans
// (warm_call.h) takes no thread.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include "proto/hearth.grpc.pb.h"
#include "server/api/request_task.h"

namespace hearth::server {

using NativeServiceBase = v1::ModelService::WithRawCallbackMethod_Call<
    v1::ModelService::WithCallbackMethod_ListMethods<v1::ModelService::WithCallbackMethod_ListPlans<
        v1::ModelService::WithCallbackMethod_Warm<v1::ModelService::Service>>>>;

class NativeService final : public NativeServiceBase {
 public:
  // The environment outlives the service.
  explicit NativeService(const RequestEnvironment& environment) : environment_(environment) {}

  grpc::ServerUnaryReactor* Call(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ListMethods(grpc::CallbackServerContext* context, const v1::ListMethodsRequest* request,
                                        v1::ListMethodsResponse* response) override;
  grpc::ServerUnaryReactor* ListPlans(grpc::CallbackServerContext* context, const v1::ListPlansRequest* request,
                                      v1::ListPlansResponse* response) override;
  grpc::ServerUnaryReactor* Warm(grpc::CallbackServerContext* context, const v1::WarmRequest* request,
                                 v1::WarmResponse* response) override;

 private:
  const RequestEnvironment& environment_;
};

}  // namespace hearth::server
