// The running server: repository, dispatcher, gRPC and HTTP, put together and taken apart in the right order.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jit/runtime.h"
#include "proto/settings.pb.h"

namespace hearth::server {

class Daemon {
 public:
  // Listens on its ports and begins to load the models; answers (as not ready) from then on. `runtime` outlives the
  // daemon; `settings` are complete. kUnavailable for a port that cannot be had, kNotFound for a repository that cannot
  // be read.
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(const config::Settings& settings, Runtime& runtime);
  // Stop must have been called.
  ~Daemon();

  // Nothing where a port is not allowed.
  std::optional<int> grpc_port() const;
  std::optional<int> http_port() const;
  std::optional<int> metrics_port() const;

  struct Loaded {
    int versions = 0;                   // that serve
    std::vector<std::string> failures;  // Repository::Failures
  };
  // Returns when every model of the start has been loaded or has failed. Call once.
  Loaded WaitUntilLoaded();

  // Opens the access log's file anew, for who has renamed it, and reads certificates and tokens again. What goes wrong
  // is logged, and what there was stays.
  void Reload();

  // Refuses new requests and says so to health checks, ends the loads of models, answers what is in flight, then ends.
  // What is not answered after drain_seconds is cancelled.
  void Stop();

 private:
  struct Parts;
  explicit Daemon(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace hearth::server
