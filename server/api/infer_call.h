// ModelInfer: one request, one answer, both as raw bytes (request_message.h, response_message.h). The reactor owns
// itself until gRPC is done with it. A client that goes away, or whose deadline passes, cancels the run.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "server/api/infer_task.h"

namespace hearth::server {

grpc::ServerUnaryReactor* StartInferCall(const InferEnvironment& environment, grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request, grpc::ByteBuffer* response);

// The deadline of a call on the steady clock; none if the client set none.
std::optional<std::chrono::steady_clock::time_point> DeadlineOf(const grpc::CallbackServerContext& context);

}  // namespace hearth::server
