#include "server/api/warm_call.h"

#include <atomic>
#include <memory>
#include <string>
#include <utility>

namespace hearth::server {
namespace {

class WarmCall : public grpc::ServerUnaryReactor, public std::enable_shared_from_this<WarmCall> {
 public:
  WarmCall(ServablePtr servable, v1::WarmResponse* response) : servable_(std::move(servable)), response_(response) {}

  void Start() {
    self_ = shared_from_this();
    wait_ = servable_->model->WhenWarm([self = self_] { self->Answer(); });
  }

  void OnCancel() override {
    if (!ended_.exchange(true)) Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the request was cancelled"));
  }

  void OnDone() override {
    // The wait refers to this.
    wait_.reset();
    self_.reset();
  }

 private:
  void Answer() {
    if (ended_.exchange(true)) return;
    response_->set_model(servable_->name);
    response_->set_version(std::to_string(servable_->version));
    const PlanCounts counts = servable_->model->plan_counts();
    response_->set_plans(static_cast<uint32_t>(counts.specialised + counts.exact));
    response_->set_failed(static_cast<uint32_t>(counts.failed));
    Finish(grpc::Status::OK);
  }

  const ServablePtr servable_;
  v1::WarmResponse* const response_;
  std::atomic<bool> ended_{false};
  std::shared_ptr<const void> wait_;
  std::shared_ptr<WarmCall> self_;
};

}  // namespace

grpc::ServerUnaryReactor* StartWarmCall(ServablePtr servable, v1::WarmResponse* response) {
  const auto call = std::make_shared<WarmCall>(std::move(servable), response);
  // gRPC keeps a reactor that has finished until this function has returned it.
  call->Start();
  return call.get();
}

}  // namespace hearth::server
