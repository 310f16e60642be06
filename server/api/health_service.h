// grpc.health.v1 on the callback API. Known names: "" and "inference.GRPCInferenceService" (the server), and every
// model.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "proto/health/health.grpc.pb.h"
#include "server/api/call_environment.h"
#include "server/api/raw_methods.h"

namespace hearth::server {

class HealthWatch;

using HealthServiceBase =
    WithRawMethods<grpc::health::v1::Health::Service, grpc::health::v1::Health::WithRawCallbackMethod_Check,
                   grpc::health::v1::Health::WithRawCallbackMethod_List,
                   grpc::health::v1::Health::WithRawCallbackMethod_Watch>::Type;

class HealthService final : public HealthServiceBase {
 public:
  using Status = grpc::health::v1::HealthCheckResponse::ServingStatus;
  // The status of a name; SERVICE_UNKNOWN for one that is not known. Thread-safe.
  using StatusOf = std::function<Status(const std::string& service)>;
  using Names = std::function<std::vector<std::string>()>;

  // The environment need not be made yet, but before the first call.
  HealthService(const CallEnvironment& calls, StatusOf status_of, Names names)
      : calls_(calls), status_of_(std::move(status_of)), names_(std::move(names)) {}

  using Context = grpc::CallbackServerContext;
  using Buffer = grpc::ByteBuffer;

  grpc::ServerUnaryReactor* Check(Context* context, const Buffer* request, Buffer* response) override;
  grpc::ServerUnaryReactor* List(Context* context, const Buffer* request, Buffer* response) override;
  grpc::ServerWriteReactor<Buffer>* Watch(Context* context, const Buffer* request) override;

  // Tells watchers what has changed. Call after any change of what StatusOf answers. Thread-safe.
  void Update();
  // Tells watchers the last status and ends their streams.
  void Shutdown();

 private:
  friend class HealthWatch;
  void Add(std::shared_ptr<HealthWatch> watch);
  void Remove(const std::shared_ptr<HealthWatch>& watch);
  std::set<std::shared_ptr<HealthWatch>> Watches();

  const CallEnvironment& calls_;
  const StatusOf status_of_;
  const Names names_;
  std::mutex mutex_;
  bool shut_down_ = false;
  std::set<std::shared_ptr<HealthWatch>> watches_;
};

}  // namespace hearth::server
