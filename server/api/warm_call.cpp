#include "server/api/warm_call.h"

#include <memory>
#include <string>
#include <utility>

#include "proto/hearth.pb.h"
#include "server/api/message_call.h"

namespace hearth::server {
namespace {

class WarmCall final : public MessageCall {
 public:
  WarmCall(const RawCall& raw, const Repository& repository) : MessageCall(raw), repository_(repository) {}

  void OnCancel() override { Answer(absl::CancelledError("the request was cancelled")); }

  void OnDone() override {
    // The wait refers to this.
    wait_.reset();
    MessageCall::OnDone();
  }

 private:
  v1::WarmRequest& request() override { return request_; }
  const v1::WarmResponse& response() const override { return response_; }

  void Call() override {
    auto servable = repository_.Find(request_.model(), request_.version());
    if (!servable.ok()) return Answer(servable.status());
    servable_ = *std::move(servable);
    wait_ = servable_->model->WhenWarm(
        [self = std::static_pointer_cast<WarmCall>(shared_from_this())] { self->AnswerWarm(); });
  }

  void AnswerWarm() {
    response_.set_model(servable_->name);
    response_.set_version(std::to_string(servable_->version));
    const PlanCounts counts = servable_->model->plan_counts();
    response_.set_plans(static_cast<uint32_t>(counts.specialised + counts.exact));
    response_.set_failed(static_cast<uint32_t>(counts.failed));
    Answer(absl::OkStatus());
  }

  const Repository& repository_;
  v1::WarmRequest request_;
  v1::WarmResponse response_;
  ServablePtr servable_;
  std::shared_ptr<const void> wait_;
};

}  // namespace

grpc::ServerUnaryReactor* StartWarmCall(const RawCall& raw, const Repository& repository) {
  const auto call = std::make_shared<WarmCall>(raw, repository);
  call->Start({}, nullptr);
  return call.get();
}

}  // namespace hearth::server
