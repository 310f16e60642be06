#include "server/api/profile_call.h"

#include <grpcpp/alarm.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/hearth.pb.h"
#include "server/api/chrome_trace.h"
#include "server/api/elsewhere.h"
#include "server/api/message_call.h"

namespace hearth::server {
namespace {

constexpr double kMostSeconds = 60;
constexpr double kUsualSeconds = 10;
constexpr uint32_t kUsualCalls = 100;

absl::Status CheckBounds(const v1::ProfileRequest& request) {
  if (!(request.seconds() >= 0 && request.seconds() <= kMostSeconds)) {
    return absl::InvalidArgumentError(
        absl::StrCat("seconds is ", request.seconds(), "; a profile may take ", kMostSeconds));
  }
  if (request.calls() > CallProfiler::kMostCalls) {
    return absl::InvalidArgumentError(
        absl::StrCat("calls is ", request.calls(), "; a profile may have ", CallProfiler::kMostCalls));
  }
  return absl::OkStatus();
}

class ProfileCall final : public MessageCall {
 public:
  ProfileCall(const RawCall& raw, const RequestEnvironment& environment)
      : MessageCall(raw), environment_(environment) {}

  void OnCancel() override { End(absl::CancelledError("the request was cancelled")); }

 private:
  v1::ProfileRequest& request() override { return request_; }
  const v1::ProfileResponse& response() const override { return response_; }

  std::shared_ptr<ProfileCall> self() { return std::static_pointer_cast<ProfileCall>(shared_from_this()); }

  void Call() override {
    if (absl::Status status = CheckBounds(request_); !status.ok()) return Answer(std::move(status));
    auto servable = environment_.repository.Find(request_.model(), request_.version());
    if (!servable.ok()) return Answer(servable.status());
    servable_ = *std::move(servable);
    const size_t calls = request_.calls() > 0 ? request_.calls() : kUsualCalls;
    absl::Status status = servable_->profiler.Begin(calls, [self = self()] { self->End(absl::OkStatus()); });
    if (!status.ok()) return Answer(std::move(status));
    begun_ = true;
    const std::chrono::duration<double> time(request_.seconds() > 0 ? request_.seconds() : kUsualSeconds);
    alarm_.Set(std::chrono::system_clock::now() + std::chrono::duration_cast<std::chrono::microseconds>(time),
               [self = self()](bool) { self->End(absl::OkStatus()); });
    // Whoever ended it before has found no alarm to take back.
    if (ended_) alarm_.Cancel();
  }

  // The first of the last call, the alarm and the client that goes.
  void End(absl::Status status) {
    if (!begun_ || ended_.exchange(true)) return;
    alarm_.Cancel();
    std::vector<ProfiledCall> calls = servable_->profiler.End();
    if (!status.ok()) return Answer(std::move(status));
    // Where this is called from, a request is answered.
    DoElsewhere(
        environment_.dispatcher,
        [self = self(), calls = std::move(calls)] {
          self->Write(calls);
          return absl::OkStatus();
        },
        [self = self()](absl::Status written) { self->Answer(std::move(written)); });
  }

  void Write(const std::vector<ProfiledCall>& calls) {
    response_.set_model(servable_->name);
    response_.set_version(std::to_string(servable_->version));
    ChromeTrace trace = WriteChromeTrace(absl::StrCat(servable_->name, " ", servable_->version), calls);
    response_.set_calls(static_cast<uint32_t>(calls.size()));
    response_.set_operators(static_cast<uint32_t>(trace.operators));
    response_.set_trace(std::move(trace.json));
  }

  const RequestEnvironment& environment_;
  v1::ProfileRequest request_;
  v1::ProfileResponse response_;
  ServablePtr servable_;
  grpc::Alarm alarm_;
  std::atomic<bool> begun_{false};
  std::atomic<bool> ended_{false};
};

}  // namespace

grpc::ServerUnaryReactor* StartProfileCall(const RawCall& raw, const RequestEnvironment& environment) {
  const auto call = std::make_shared<ProfileCall>(raw, environment);
  call->Start({}, nullptr);
  return call.get();
}

}  // namespace hearth::server
