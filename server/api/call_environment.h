// What calls of gRPC need of the server, whatever their service.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <functional>

#include "absl/status/status.h"
#include "jit/support/memory_account.h"

namespace hearth::server {

// Asked of every call before its message is looked at, on a thread of gRPC's: whether it may go on. `method` is its
// name, as "inference.GRPCInferenceService/ModelInfer".
using CallAdmission = std::function<absl::Status(const grpc::CallbackServerContext& context, const char* method)>;

struct CallEnvironment {
  CallAdmission admission;                                      // null: every call goes on
  MemoryAccount* memory = nullptr;                              // of all requests; null: they have no limit
  std::chrono::nanoseconds send_time{std::chrono::minutes(1)};  // see SendLimit

  absl::Status Admit(const grpc::CallbackServerContext& context, const char* method) const {
    return admission == nullptr ? absl::OkStatus() : admission(context, method);
  }
};

// A unary call as gRPC hands it to a service's method. All of it is there until the call's reactor is done.
struct RawCall {
  const CallEnvironment& environment;
  grpc::CallbackServerContext* context = nullptr;
  const grpc::ByteBuffer* request = nullptr;
  grpc::ByteBuffer* response = nullptr;
  const char* method = "";  // as CallAdmission has it

  absl::Status Admit() const { return environment.Admit(*context, method); }
};

}  // namespace hearth::server
