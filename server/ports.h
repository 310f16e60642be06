// The daemon's ports, three at most: where they listen, what they show, and whom they let in. The services and handlers
// behind them know nothing of that.
#pragma once

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/settings.pb.h"
#include "server/http/http_server.h"
#include "server/security/access_control.h"
#include "server/security/grpc_acceptor.h"
#include "server/security/listening_sockets.h"
#include "server/security/server_certificate.h"
#include "server/security/watched_files.h"

namespace hearth::server {

class Ports {
 public:
  // Takes the ports, and reads certificates and tokens. kUnavailable for a port that cannot be had, and the errors of
  // the files.
  static absl::StatusOr<std::unique_ptr<Ports>> Open(const config::Settings& settings);
  ~Ports();
  // What is wrong with the files that Open would read; takes no port.
  static std::vector<absl::Status> CheckFiles(const config::Settings& settings);

  // Begins to serve: gRPC with the services that the builder has, HTTP with the handlers. kUnavailable if gRPC cannot.
  absl::Status Serve(grpc::ServerBuilder& builder, std::shared_ptr<HttpHandler> http,
                     std::shared_ptr<HttpHandler> metrics);

  // Nothing where a port is not allowed.
  std::optional<int> grpc_port() const { return grpc_number_; }
  std::optional<int> http_port() const { return http_number_; }
  std::optional<int> metrics_port() const { return metrics_number_; }

  // Reads certificates and tokens again, soon. They are also read when they change.
  void ReloadFiles() { watched_.Reload(); }

  // Closes the ports. Calls and requests that are under way may end until then; those that have not are cancelled.
  void Stop(std::chrono::steady_clock::time_point end);

 private:
  Ports() = default;

  absl::Status ReadFiles(const config::Settings& settings);
  absl::Status ServeGrpc(grpc::ServerBuilder& builder);
  void SetBounds(grpc::ServerBuilder& builder) const;

  config::Settings settings_;
  std::optional<int> grpc_number_, http_number_, metrics_number_;
  ListeningSockets grpc_sockets_, http_sockets_, metrics_sockets_;
  std::unique_ptr<AccessControl> access_;
  // Null: plain.
  std::unique_ptr<ServerCertificate> grpc_certificate_, http_certificate_, metrics_certificate_;
  std::unique_ptr<grpc::Server> grpc_;
  std::unique_ptr<GrpcAcceptor> acceptor_;
  std::unique_ptr<HttpServer> http_, metrics_;
  WatchedFiles watched_;
};

}  // namespace hearth::server
