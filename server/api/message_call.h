// A unary call of a method that carries no tensors: its message read within bounds (read_message.h), the method called,
// its response sent. Short messages are read where they arrive, on a thread of gRPC's; a method that may
// get longer ones has them read on the runtime's pool. A call owns itself until gRPC is done with it.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "server/api/call_environment.h"
#include "server/api/read_message.h"
#include "server/api/send_limit.h"
#include "server/scheduling/dispatcher.h"

namespace hearth::server {

class MessageCall : public grpc::ServerUnaryReactor, public std::enable_shared_from_this<MessageCall> {
 public:
  explicit MessageCall(const RawCall& call) : call_(call), buffer_(*call.request) {}

  // gRPC keeps a reactor that has finished until the service's method has returned it. `elsewhere` reads what is long;
  // null where the bounds allow nothing that is.
  void Start(const MessageBounds& bounds, Dispatcher* elsewhere);

  void OnDone() override {
    send_limit_.End();
    self_ = nullptr;
  }
  // See UnaryCall.
  bool InternalInlineable() override { return true; }

 protected:
  virtual google::protobuf::Message& request() = 0;
  virtual const google::protobuf::Message& response() const = 0;
  // What the method does; calls Answer, then or later, on any thread. May throw.
  virtual void Call() = 0;

  // The first answer counts.
  void Answer(absl::Status status);

 private:
  void Read(const MessageBounds& bounds);
  // Counts bytes of a message for the memory of all requests. Throws MemoryLimitError.
  void Charge(size_t bytes);

  const RawCall call_;
  grpc::ByteBuffer buffer_;              // the request
  std::optional<MemoryAccount> memory_;  // of both messages
  SendLimit send_limit_;
  std::shared_ptr<MessageCall> self_;
  std::atomic<bool> answered_{false};
};

// `method` takes the request, the response and what to call with the status. It is called once, and may throw before it
// has called that.
template <typename Request, typename Response, typename Method>
class MethodCall final : public MessageCall {
 public:
  MethodCall(const RawCall& call, Method method) : MessageCall(call), method_(std::move(method)) {}

 private:
  Request& request() override { return request_; }
  const Response& response() const override { return response_; }
  void Call() override {
    method_(request_, response_, [this](absl::Status status) { Answer(std::move(status)); });
  }

  const Method method_;
  Request request_;
  Response response_;
};

// The bounds' default has short messages alone.
template <typename Request, typename Response, typename Method>
grpc::ServerUnaryReactor* StartMethodCall(const RawCall& raw, Method method, const MessageBounds& bounds = {},
                                          Dispatcher* elsewhere = nullptr) {
  const auto call = std::make_shared<MethodCall<Request, Response, Method>>(raw, std::move(method));
  call->Start(bounds, elsewhere);
  return call.get();
}

}  // namespace hearth::server
