// A call of ModelService's Record: sends the requests of a model while they are answered (recordings.h), until there
// are as many as were asked for, its time is over, its client goes or the server ends. It takes no thread meanwhile.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "server/api/call_environment.h"
#include "server/api/request_task.h"

namespace hearth::server {

// All given but the request outlives the call.
grpc::ServerWriteReactor<grpc::ByteBuffer>* StartRecordCall(const CallEnvironment& calls,
                                                            const RequestEnvironment& environment,
                                                            grpc::CallbackServerContext* context,
                                                            const grpc::ByteBuffer* request);

}  // namespace hearth::server
