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

namespace hearth::server {

class HealthWatch;

class HealthService final : public grpc::health::v1::Health::CallbackService {
 public:
  using Status = grpc::health::v1::HealthCheckResponse::ServingStatus;
  // The status of a name; SERVICE_UNKNOWN for one that is not known. Thread-safe.
  using StatusOf = std::function<Status(const std::string& service)>;
  using Names = std::function<std::vector<std::string>()>;

  HealthService(StatusOf status_of, Names names) : status_of_(std::move(status_of)), names_(std::move(names)) {}

  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context,
                                  const grpc::health::v1::HealthCheckRequest* request,
                                  grpc::health::v1::HealthCheckResponse* response) override;
  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* context,
                                 const grpc::health::v1::HealthListRequest* request,
                                 grpc::health::v1::HealthListResponse* response) override;
  grpc::ServerWriteReactor<grpc::health::v1::HealthCheckResponse>* Watch(
      grpc::CallbackServerContext* context, const grpc::health::v1::HealthCheckRequest* request) override;

  // Tells watchers what has changed. Call after any change of what StatusOf answers. Thread-safe.
  void Update();
  // Tells watchers the last status and ends their streams.
  void Shutdown();

 private:
  friend class HealthWatch;
  void Add(std::shared_ptr<HealthWatch> watch);
  void Remove(const std::shared_ptr<HealthWatch>& watch);
  std::set<std::shared_ptr<HealthWatch>> Watches();

  const StatusOf status_of_;
  const Names names_;
  std::mutex mutex_;
  bool shut_down_ = false;
  std::set<std::shared_ptr<HealthWatch>> watches_;
};

}  // namespace hearth::server
