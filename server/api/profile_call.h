// A call of ModelService's Profile: it takes no thread while calls are profiled, and ends with the last of them, with
// its time, or with its client.
#pragma once

#include <grpcpp/support/server_callback.h>

#include "server/api/call_environment.h"
#include "server/api/request_task.h"

namespace hearth::server {

// `environment` outlives the call.
grpc::ServerUnaryReactor* StartProfileCall(const RawCall& raw, const RequestEnvironment& environment);

}  // namespace hearth::server
