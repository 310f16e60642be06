// ModelStreamInfer: many requests on one stream. They run side by side; answers leave in the order of the requests, as
// clients of Triton expect. An error is the answer of its request and leaves the stream open. Requests are read ahead
// of the answers only as far as a bound on their number and one on the bytes of their answers allow, so a client that
// sends faster than it is served or reads is slowed down by HTTP/2's flow control. A stream whose client reads nothing
// for a while is cancelled.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <memory>
#include <mutex>
#include <set>

#include "server/api/call_environment.h"
#include "server/api/request_task.h"

namespace hearth::server {

class StreamCall;

// The open streams, so that a drain can end them. Thread-safe.
class StreamRegistry {
 public:
  // Reads no more from any stream, now or later: each ends with UNAVAILABLE when what it has read is answered.
  void StopReading();

 private:
  friend class StreamCall;
  // False if reading has been stopped.
  bool Add(std::shared_ptr<StreamCall> call);
  void Remove(const std::shared_ptr<StreamCall>& call);

  std::mutex mutex_;
  bool stopped_ = false;
  std::set<std::shared_ptr<StreamCall>> calls_;
};

// All given outlives the stream.
grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StartStreamCall(const CallEnvironment& calls,
                                                                             const RequestEnvironment& environment,
                                                                             StreamRegistry& registry,
                                                                             grpc::CallbackServerContext* context);

}  // namespace hearth::server
