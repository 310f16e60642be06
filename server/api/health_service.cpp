#include "server/api/health_service.h"

#include <optional>
#include <utility>

#include "server/api/guarded.h"
#include "server/api/message_call.h"
#include "server/api/read_message.h"
#include "server/api/status.h"

namespace hearth::server {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using grpc::health::v1::HealthListRequest;
using grpc::health::v1::HealthListResponse;

// One watcher's stream: sends the status whenever it differs from the one sent last. A status that changes twice during
// a write is sent once, which is what the protocol asks for.
class HealthWatch : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                    public std::enable_shared_from_this<HealthWatch> {
 public:
  explicit HealthWatch(HealthService& service) : service_(service) {}

  void Start(grpc::ByteBuffer message) {
    self_ = shared_from_this();
    HealthCheckRequest request;
    const absl::Status status = Guarded([&] { return ReadMessage(message, {}, nullptr, request); });
    if (!status.ok()) {
      finished_ = true;
      return Finish(ToGrpc(status));
    }
    name_ = request.service();
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
        HealthCheckResponse response;
        response.set_status(now);
        WriteMessage(response, message_);
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
  std::string name_;
  grpc::ByteBuffer message_;
  std::shared_ptr<HealthWatch> self_;

  std::mutex mutex_;
  std::optional<HealthService::Status> last_;
  bool writing_ = false;
  bool cancelled_ = false;
  bool ending_ = false;
  bool finished_ = false;
};

grpc::ServerUnaryReactor* HealthService::Check(Context* context, const Buffer* request, Buffer* response) {
  const auto check = [this](const HealthCheckRequest& asked, HealthCheckResponse& answer, const auto& done) {
    const Status status = status_of_(asked.service());
    answer.set_status(status);
    done(status == HealthCheckResponse::SERVICE_UNKNOWN
             ? absl::NotFoundError("no service or model '" + asked.service() + "'")
             : absl::OkStatus());
  };
  return StartMethodCall<HealthCheckRequest, HealthCheckResponse>({calls_, context, request, response}, check);
}

grpc::ServerUnaryReactor* HealthService::List(Context* context, const Buffer* request, Buffer* response) {
  const auto list = [this](const HealthListRequest&, HealthListResponse& answer, const auto& done) {
    for (const std::string& name : names_()) (*answer.mutable_statuses())[name].set_status(status_of_(name));
    done(absl::OkStatus());
  };
  return StartMethodCall<HealthListRequest, HealthListResponse>({calls_, context, request, response}, list);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* HealthService::Watch(Context*, const Buffer* request) {
  auto watch = std::make_shared<HealthWatch>(*this);
  watch->Start(*request);
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
