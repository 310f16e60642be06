#include "server/api/health_service.h"

#include <optional>
#include <utility>

namespace hearth::server {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using grpc::health::v1::HealthListRequest;
using grpc::health::v1::HealthListResponse;

// One watcher's stream: sends the status whenever it differs from the one sent last. A status that changes twice during
// a write is sent once, which is what the protocol asks for.
class HealthWatch : public grpc::ServerWriteReactor<HealthCheckResponse>,
                    public std::enable_shared_from_this<HealthWatch> {
 public:
  HealthWatch(HealthService& service, std::string name) : service_(service), name_(std::move(name)) {}

  void Start() {
    self_ = shared_from_this();
    service_.Add(self_);
    Advance();
  }

  void Advance() {
    const auto self = shared_from_this();
    bool write = false, finish = false;
    {
      std::lock_guard lock(mutex_);
      if (finished_ || writing_) return;
      const HealthService::Status now = service_.status_of_(name_);
      if (!cancelled_ && last_ != now) {
        last_ = now;
        message_.set_status(now);
        write = writing_ = true;
      } else if (cancelled_ || ending_) {
        finish = finished_ = true;
      }
    }
    if (write) StartWrite(&message_);
    if (finish) {
      Finish(cancelled_ ? grpc::Status::CANCELLED
                        : grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server is shutting down"));
    }
  }

  void End() {
    {
      std::lock_guard lock(mutex_);
      ending_ = true;
    }
    Advance();
  }

  void OnWriteDone(bool ok) override {
    {
      std::lock_guard lock(mutex_);
      writing_ = false;
      if (!ok) cancelled_ = true;
    }
    Advance();
  }

  void OnCancel() override {
    {
      std::lock_guard lock(mutex_);
      cancelled_ = true;
    }
    Advance();
  }

  void OnDone() override {
    service_.Remove(self_);
    self_ = nullptr;
  }

 private:
  HealthService& service_;
  const std::string name_;
  HealthCheckResponse message_;
  std::shared_ptr<HealthWatch> self_;

  std::mutex mutex_;
  std::optional<HealthService::Status> last_;
  bool writing_ = false;
  bool cancelled_ = false;
  bool ending_ = false;
  bool finished_ = false;
};

grpc::ServerUnaryReactor* HealthService::Check(grpc::CallbackServerContext* context, const HealthCheckRequest* request,
                                               HealthCheckResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const Status status = status_of_(request->service());
  if (status == HealthCheckResponse::SERVICE_UNKNOWN) {
    reactor->Finish(grpc::Status(grpc::StatusCode::NOT_FOUND, "no service or model '" + request->service() + "'"));
    return reactor;
  }
  response->set_status(status);
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* HealthService::List(grpc::CallbackServerContext* context, const HealthListRequest*,
                                              HealthListResponse* response) {
  for (const std::string& name : names_()) (*response->mutable_statuses())[name].set_status(status_of_(name));
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerWriteReactor<HealthCheckResponse>* HealthService::Watch(grpc::CallbackServerContext*,
                                                                    const HealthCheckRequest* request) {
  auto watch = std::make_shared<HealthWatch>(*this, request->service());
  watch->Start();
  return watch.get();
}

void HealthService::Add(std::shared_ptr<HealthWatch> watch) {
  bool end = false;
  {
    std::lock_guard lock(mutex_);
    watches_.insert(watch);
    end = shut_down_;
  }
  if (end) watch->End();
}

void HealthService::Remove(const std::shared_ptr<HealthWatch>& watch) {
  std::lock_guard lock(mutex_);
  watches_.erase(watch);
}

std::set<std::shared_ptr<HealthWatch>> HealthService::Watches() {
  std::lock_guard lock(mutex_);
  return watches_;
}

void HealthService::Update() {
  for (const auto& watch : Watches()) watch->Advance();
}

void HealthService::Shutdown() {
  {
    std::lock_guard lock(mutex_);
    shut_down_ = true;
  }
  for (const auto& watch : Watches()) watch->End();
}

}  // namespace hearth::server
