#include "cli/client.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/text.h"

namespace hearth::cli {
namespace {

// Of a file that should be small; empty for no path.
absl::StatusOr<std::string> ReadText(const std::string& path) {
  if (path.empty()) return std::string();
  constexpr size_t kMostBytes = 1 << 20;
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  if (file.bad() || (!file.eof() && file.fail()) || text.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be read, or is empty"));
  }
  if (text.size() > kMostBytes) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": has more than ", kMostBytes, " bytes"));
  }
  return text;
}

absl::StatusOr<std::string> ReadToken(const std::string& path) {
  auto text = ReadText(path);
  if (!text.ok()) return text;
  std::string token(StripText(*text));
  // What a header may hold; anything else would end the call with no word of why.
  const bool plain = std::ranges::all_of(token, [](char c) { return c > ' ' && c < 0x7f; });
  if (!plain || (token.empty() && !path.empty())) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": expected one token of printable characters"));
  }
  return token;
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeCredentials(const ServerOptions& options) {
  if (options.tls_cert.empty() != options.tls_key.empty()) {
    return absl::InvalidArgumentError("--tls-cert and --tls-key go together");
  }
  if (!options.tls && options.tls_ca.empty() && options.tls_cert.empty()) return grpc::InsecureChannelCredentials();
  const auto authority = ReadText(options.tls_ca);
  if (!authority.ok()) return authority.status();
  const auto certificate = ReadText(options.tls_cert);
  if (!certificate.ok()) return certificate.status();
  const auto key = ReadText(options.tls_key);
  if (!key.ok()) return key.status();
  return grpc::SslCredentials({.pem_root_certs = *authority, .pem_private_key = *key, .pem_cert_chain = *certificate});
}

}  // namespace

void AddConnectionOptions(CLI::App& app, ServerOptions& options) {
  app.add_option("--timeout", options.timeout, "Seconds to wait for an answer")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--token-file", options.token_file, "A file with the token that the server asks for")
      ->type_name("FILE");
  app.add_flag("--tls", options.tls, "Speak TLS, and trust whom this machine trusts");
  app.add_option("--tls-ca", options.tls_ca, "Speak TLS, and trust the certificates in this PEM file")
      ->type_name("FILE");
  app.add_option("--tls-cert", options.tls_cert, "The client's own certificate, PEM")->type_name("FILE");
  app.add_option("--tls-key", options.tls_key, "Its key, PEM")->type_name("FILE");
}

void AddAddress(CLI::App& app, ServerOptions& options) {
  app.add_option("ADDRESS", options.address, "HOST:PORT of the server's gRPC")->capture_default_str();
}

CLI::Option* AddTarget(CLI::App& app, Target& target, const char* form) {
  return app
      .add_option(
          "MODEL", target.words,
          absl::StrCat("The model's name, before it HOST:PORT of the server's gRPC if that is not ", kDefaultAddress))
      ->option_text(form)
      ->expected(1, 2)
      ->required();
}

absl::Status ReadTarget(const Target& target, ServerOptions& options) {
  options.model = target.words.back();
  if (target.words.size() == 2) {
    options.address = target.words.front();
    return absl::OkStatus();
  }
  const size_t colon = options.model.rfind(':');
  const bool is_address =
      colon != std::string::npos && colon + 1 < options.model.size() &&
      std::all_of(options.model.begin() + colon + 1, options.model.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!is_address) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("MODEL is required after the address '", options.model, "'"));
}

absl::StatusOr<Connection> Connection::Open(const ServerOptions& options) {
  // What goes wrong is in the status; gRPC's own lines would stand between ours. Who wants them sets it.
  setenv("GRPC_VERBOSITY", "NONE", /*replace=*/0);
  auto credentials = MakeCredentials(options);
  if (!credentials.ok()) return credentials.status();
  auto token = ReadToken(options.token_file);
  if (!token.ok()) return token.status();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  // Each has a connection of its own.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return Connection(grpc::CreateCustomChannel(options.address, *credentials, arguments), options.timeout,
                    *std::move(token));
}

void Connection::Prepare(grpc::ClientContext& context) const {
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::microseconds(static_cast<int64_t>(timeout_ * 1e6)));
  if (!token_.empty()) context.AddMetadata("authorization", "Bearer " + token_);
}

}  // namespace hearth::cli
