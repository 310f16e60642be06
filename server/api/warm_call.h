// A call of hearth.v1's Warm: answered when a model has nothing left to compile, without a thread that waits. A client
// that goes away, or whose deadline passes, ends the wait.
#pragma once

#include <grpcpp/support/server_callback.h>

#include "server/api/call_environment.h"
#include "server/repository/repository.h"

namespace hearth::server {

grpc::ServerUnaryReactor* StartWarmCall(const RawCall& raw, const Repository& repository);

}  // namespace hearth::server
