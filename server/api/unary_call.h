// A unary call whose messages are raw bytes, answered by a task. Its reactor owns itself until gRPC is done with it. A
// client that goes away, or whose deadline passes, cancels the run.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>

#include "server/api/call_environment.h"
#include "server/api/request_task.h"

namespace hearth::server {

// Starts the task.
grpc::ServerUnaryReactor* StartUnaryCall(std::shared_ptr<RequestTask> task, const RawCall& raw);

// The deadline of a call on the steady clock; none if the client set none.
std::optional<std::chrono::steady_clock::time_point> DeadlineOf(const grpc::CallbackServerContext& context);

// The trace that a call's metadata say it belongs to, if any.
std::optional<TraceContext> CallerTraceOf(const grpc::CallbackServerContext& context);

}  // namespace hearth::server
