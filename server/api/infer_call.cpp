#include "server/api/infer_call.h"

#include "server/api/response_message.h"
#include "server/api/status.h"

namespace hearth::server {
namespace {

class InferCall : public grpc::ServerUnaryReactor {
 public:
  InferCall(const InferEnvironment& environment, grpc::ByteBuffer* response)
      : environment_(environment), response_(response), task_(std::make_shared<InferTask>(environment)) {}

  void Start(grpc::CallbackServerContext* context, const grpc::ByteBuffer& request) {
    // Done may end in this object's deletion before Start returns to us: the task is held here.
    const auto task = task_;
    task->Start(
        request, DeadlineOf(*context), environment_.access_log != nullptr ? context->peer() : "",
        [this](InferAnswer answer) -> size_t {
          status_ = ToGrpc(answer.status);
          if (!status_.ok()) return 0;
          // A plain assignment would copy the buffer.
          EncodeInferResponse(answer.header, std::move(answer.outputs)).Swap(response_);
          return response_->Length();
        },
        [this] { Finish(status_); });
  }

  void OnCancel() override { task_->Cancel(); }
  void OnDone() override { delete this; }
  // Both are short and never block, so they need no thread of gRPC's executor, whose waking costs as much as a small
  // request. gRPC keeps this switch for reactors of that kind.
  bool InternalInlineable() override { return true; }

 private:
  const InferEnvironment& environment_;
  grpc::ByteBuffer* const response_;
  grpc::Status status_;
  const std::shared_ptr<InferTask> task_;
};

}  // namespace

std::optional<std::chrono::steady_clock::time_point> DeadlineOf(const grpc::CallbackServerContext& context) {
  const auto deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return std::nullopt;
  const auto left = deadline - std::chrono::system_clock::now();
  // Beyond what the steady clock can count there is no deadline either.
  if (left > std::chrono::hours(24 * 365)) return std::nullopt;
  return std::chrono::steady_clock::now() + left;
}

grpc::ServerUnaryReactor* StartInferCall(const InferEnvironment& environment, grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  // gRPC keeps a reactor that has finished until this method has returned it.
  auto* call = new InferCall(environment, response);
  call->Start(context, *request);
  return call;
}

}  // namespace hearth::server
