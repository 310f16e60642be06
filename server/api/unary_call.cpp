#include "server/api/unary_call.h"

#include <string>
#include <utility>

#include "server/api/send_limit.h"
#include "server/api/status.h"

namespace hearth::server {
namespace {

class UnaryCall : public grpc::ServerUnaryReactor {
 public:
  UnaryCall(std::shared_ptr<RequestTask> task, const RawCall& call) : call_(call), task_(std::move(task)) {}

  void Start() {
    std::string peer = task_->is_logged() ? call_.context->peer() : "";
    if (task_->wants_caller_trace()) task_->set_caller_trace(CallerTraceOf(*call_.context));
    // Done may end in this object's deletion before Start returns to us: the task is held here.
    const auto task = task_;
    task->Start(*call_.request, DeadlineOf(*call_.context), std::move(peer),
                [this](absl::Status status, grpc::ByteBuffer& answer) {
                  answer.Swap(call_.response);
                  if (call_.response->Length() > SendLimit::kFewBytes) {
                    send_limit_.Begin(*call_.context, call_.environment.send_time);
                  }
                  Finish(ToGrpc(status, *call_.context));
                });
  }

  void OnCancel() override { task_->Cancel(); }
  void OnDone() override {
    send_limit_.End();
    delete this;
  }
  // Both are short and never block, so they need no thread of gRPC's executor, whose waking costs as much as a small
  // request. gRPC keeps this switch for reactors of that kind.
  bool InternalInlineable() override { return true; }

 private:
  const RawCall call_;
  const std::shared_ptr<RequestTask> task_;
  SendLimit send_limit_;
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

std::optional<TraceContext> CallerTraceOf(const grpc::CallbackServerContext& context) {
  const auto& metadata = context.client_metadata();
  const auto parent = metadata.find("traceparent");
  if (parent == metadata.end()) return std::nullopt;
  // It may come in several parts.
  std::string state;
  const auto [first, last] = metadata.equal_range("tracestate");
  for (auto part = first; part != last; ++part) {
    if (part != first) state += ',';
    state.append(part->second.data(), part->second.size());
  }
  return ParseTraceContext({parent->second.data(), parent->second.size()}, state);
}

grpc::ServerUnaryReactor* StartUnaryCall(std::shared_ptr<RequestTask> task, const RawCall& raw) {
  // gRPC keeps a reactor that has finished until this method has returned it.
  auto* call = new UnaryCall(std::move(task), raw);
  call->Start();
  return call;
}

}  // namespace hearth::server
