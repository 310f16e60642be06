// What calls of gRPC need of the server, whatever their service.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>

#include "jit/support/memory_account.h"

namespace hearth::server {

struct CallEnvironment {
  MemoryAccount* memory = nullptr;                              // of all requests; null: they have no limit
  std::chrono::nanoseconds send_time{std::chrono::minutes(1)};  // see SendLimit
};

// A unary call as gRPC hands it to a service's method. All of it is there until the call's reactor is done.
struct RawCall {
  const CallEnvironment& environment;
  grpc::CallbackServerContext* context = nullptr;
  const grpc::ByteBuffer* request = nullptr;
  grpc::ByteBuffer* response = nullptr;
};

}  // namespace hearth::server
