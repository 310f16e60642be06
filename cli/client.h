// What the subcommands that talk to a server share: which server, how to reach it, its deadlines and its errors.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hearth::cli {

inline constexpr const char* kDefaultAddress = "localhost:8001";

struct ServerOptions {
  std::string address = kDefaultAddress;
  std::string model;
  std::string version;
  double timeout = 60;  // seconds
  // Files: a token that the server asks for; PEM of who signed its certificate, and of the client's own certificate and
  // key. TLS is used where one of the latter three is given, or `tls` is set: then by the system's certificates.
  std::string token_file;
  bool tls = false;
  std::string tls_ca;
  std::string tls_cert;
  std::string tls_key;
};

// Adds --timeout, --token-file, --tls, --tls-ca, --tls-cert and --tls-key.
void AddConnectionOptions(CLI::App& app, ServerOptions& options);
// Adds the positional [ADDRESS].
void AddAddress(CLI::App& app, ServerOptions& options);
// Adds the positionals [ADDRESS] MODEL; ReadTarget tells them apart once the command line is parsed.
struct Target {
  std::vector<std::string> words;
};
CLI::Option* AddTarget(CLI::App& app, Target& target, const char* form = "[ADDRESS] MODEL");
// kInvalidArgument if MODEL is missing: one word alone is the model, unless it is HOST:PORT.
absl::Status ReadTarget(const Target& target, ServerOptions& options);

// The way to a server, which need not be there yet. Thread-safe.
class Connection {
 public:
  // kInvalidArgument for a file that cannot be read, or a certificate without its key.
  static absl::StatusOr<Connection> Open(const ServerOptions& options);

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  // Gives a call its deadline and the token.
  void Prepare(grpc::ClientContext& context) const;
  // One call, prepared: (stub.*method)(&context, request, &response).
  template <typename Stub, typename Request, typename Response>
  absl::Status Call(Stub& stub, grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response& response) const;

 private:
  Connection(std::shared_ptr<grpc::Channel> channel, double timeout, std::string token)
      : channel_(std::move(channel)), timeout_(timeout), token_(std::move(token)) {}

  std::shared_ptr<grpc::Channel> channel_;
  double timeout_ = 0;
  std::string token_;
};

inline absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

template <typename Stub, typename Request, typename Response>
absl::Status Connection::Call(Stub& stub, grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                              const Request& request, Response& response) const {
  grpc::ClientContext context;
  Prepare(context);
  return FromGrpc((stub.*method)(&context, request, &response));
}

}  // namespace hearth::cli
