// What the subcommands that talk to a server share: a channel to it, deadlines, and its errors.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/status.h"

namespace hearth::cli {

struct ServerOptions {
  std::string address;
  std::string model;
  std::string version;
  double timeout = 60;  // seconds
};

inline std::shared_ptr<grpc::Channel> OpenChannel(const ServerOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  return grpc::CreateCustomChannel(options.address, grpc::InsecureChannelCredentials(), arguments);
}

inline void SetDeadline(grpc::ClientContext& context, const ServerOptions& options) {
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::microseconds(static_cast<int64_t>(options.timeout * 1e6)));
}

inline absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace hearth::cli
