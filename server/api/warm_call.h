// A call of hearth.v1's Warm: answered when a model has nothing left to compile, without a thread that waits. A client
// that goes away, or whose deadline passes, ends the wait.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include "proto/hearth.pb.h"
#include "server/repository/servable.h"

namespace hearth::server {

// Request and response are gRPC's, which keeps them until the reactor is done.
grpc::ServerUnaryReactor* StartWarmCall(ServablePtr servable, v1::WarmResponse* response);

}  // namespace hearth::server
