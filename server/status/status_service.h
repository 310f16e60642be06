// hearth.v1.StatusService, behind `hearth top`.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include "proto/status.grpc.pb.h"
#include "server/api/call_environment.h"
#include "server/api/raw_methods.h"
#include "server/scheduling/dispatcher.h"
#include "server/status/server_status.h"

namespace hearth::server {

using StatusServiceBase =
    WithRawMethods<v1::StatusService::Service, v1::StatusService::WithRawCallbackMethod_ServerStatus>::Type;

class StatusService final : public StatusServiceBase {
 public:
  // All outlive the service. `dispatcher` has the work done on the runtime's pool.
  StatusService(const CallEnvironment& calls, Dispatcher& dispatcher, const server::ServerStatus& status)
      : calls_(calls), dispatcher_(dispatcher), status_(status) {}

  grpc::ServerUnaryReactor* ServerStatus(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;

 private:
  const CallEnvironment& calls_;
  Dispatcher& dispatcher_;
  const server::ServerStatus& status_;
};

}  // namespace hearth::server
