#include "server/ports.h"

#include <grpc/compression.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/support/processors.h"
#include "server/http/guarded_handler.h"
#include "server/security/address.h"
#include "server/security/grpc_connection_guard.h"
#include "server/security/grpc_credentials.h"
#include "server/server_log.h"

namespace hearth::server {
namespace {

// What clients may have under way on one connection beside what the daemon admits: calls that are refused, streams,
// health.
constexpr int64_t kMoreStreams = 1024;
constexpr int kHandshakeMilliseconds = 10'000;
// gRPC ends a connection whose call brings more; less, and still too much, ends the call alone (grpc_credentials.h).
constexpr int kMostReadMetadataBytes = 64 << 10;

// Control frames, and resets, that a new connection may send at once.
constexpr double kFramesAtStart = 1000;

// Calls that one connection may have under way.
int64_t StreamsOf(const config::Settings& settings) { return settings.max_in_flight_requests() + kMoreStreams; }

Http2Budget BudgetOf(const config::Settings& settings) {
  const double frames = settings.grpc_max_control_frames();
  const double resets = settings.grpc_max_resets();
  return {.control_frames = {kFramesAtStart, frames, kFramesAtStart + frames},
          .resets = {kFramesAtStart, resets, kFramesAtStart + static_cast<double>(StreamsOf(settings))}};
}

TokenRate AddressRate(int setting, int of_each_processor) {
  const double rate = setting > 0 ? setting : of_each_processor * UsableProcessors();
  return {rate, rate, rate};
}

AddressRates AddressRatesOf(const config::Settings& settings) {
  return {.control_frames = AddressRate(settings.grpc_max_address_control_frames(), 5000),
          .resets = AddressRate(settings.grpc_max_address_resets(), 500)};
}

std::chrono::milliseconds Milliseconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
}

Administration AdministrationOf(const config::Settings& settings, bool only_loopback) {
  if (settings.admin() == "on") return Administration::kOn;
  if (settings.admin() == "off") return Administration::kOff;
  if (settings.admin() == "token" || !settings.token_file().empty()) return Administration::kToken;
  return only_loopback ? Administration::kOn : Administration::kOff;
}

const char* InWords(Administration administration, bool has_tokens) {
  switch (administration) {
    case Administration::kOn:
      return has_tokens ? "for tokens with that role" : "open to everybody who can connect";
    case Administration::kOff:
      return "off";
    case Administration::kToken:
      return "for tokens with that role";
  }
  return "";
}

grpc_compression_level CompressionLevelOf(const config::Settings& settings) {
  const std::string& level = settings.grpc_infer_response_compression_level();
  if (level == "low") return GRPC_COMPRESS_LEVEL_LOW;
  if (level == "medium") return GRPC_COMPRESS_LEVEL_MED;
  return level == "high" ? GRPC_COMPRESS_LEVEL_HIGH : GRPC_COMPRESS_LEVEL_NONE;
}

absl::StatusOr<std::unique_ptr<ServerCertificate>> LoadCertificate(bool mutual, bool tls, CertificateFiles files) {
  if (!mutual && !tls) return std::unique_ptr<ServerCertificate>();
  if (!mutual) files.client_ca.clear();
  return ServerCertificate::Load(std::move(files));
}

}  // namespace

Ports::~Ports() { Stop(std::chrono::steady_clock::now()); }

absl::StatusOr<std::unique_ptr<Ports>> Ports::Open(const config::Settings& settings) {
  std::unique_ptr<Ports> ports(new Ports());
  ports->settings_ = settings;
  const auto open = [&](const char* what, bool allowed, const std::string& address, int number,
                        ListeningSockets& sockets, std::optional<int>& taken) -> absl::Status {
    if (!allowed) return absl::OkStatus();
    auto opened = ListeningSockets::Open(address, number);
    if (!opened.ok()) {
      return absl::UnavailableError(absl::StrCat("cannot serve ", what, ": ", opened.status().message()));
    }
    sockets = *std::move(opened);
    taken = sockets.port();
    ServerLog().info("{} listens at {}, port {}", what, address, *taken);
    return absl::OkStatus();
  };
  absl::Status status = open("gRPC", settings.allow_grpc(), settings.grpc_address(), settings.grpc_port(),
                             ports->grpc_sockets_, ports->grpc_number_);
  if (status.ok()) {
    status = open("HTTP", settings.allow_http(), settings.http_address(), settings.http_port(), ports->http_sockets_,
                  ports->http_number_);
  }
  if (status.ok()) {
    status = open("metrics", settings.allow_metrics(), settings.metrics_address(), settings.metrics_port(),
                  ports->metrics_sockets_, ports->metrics_number_);
  }
  if (!status.ok()) return status;
  if (absl::Status status = ports->ReadFiles(settings); !status.ok()) return status;
  return ports;
}

absl::Status Ports::ReadFiles(const config::Settings& settings) {
  const auto administration =
      AdministrationOf(settings, grpc_sockets_.only_loopback() && http_sockets_.only_loopback());
  auto access = AccessControl::Create({administration, settings.token_file()});
  if (!access.ok()) return access.status();
  access_ = *std::move(access);
  ServerLog().info("administration is {}", InWords(administration, access_->has_tokens()));
  if (access_->has_tokens()) watched_.Add({settings.token_file()}, [this] { access_->Reload(); });

  const CertificateFiles grpc_files{settings.grpc_server_cert(), settings.grpc_server_key(), settings.grpc_root_cert()};
  const CertificateFiles http_files{settings.http_server_cert(), settings.http_server_key(), settings.http_root_cert()};
  auto grpc = LoadCertificate(settings.grpc_use_ssl_mutual(), settings.grpc_use_ssl(), grpc_files);
  if (!grpc.ok()) return grpc.status();
  auto http = LoadCertificate(settings.http_use_ssl_mutual(), settings.http_use_ssl(), http_files);
  if (!http.ok()) return http.status();
  auto metrics = LoadCertificate(settings.metrics_use_ssl_mutual(), settings.metrics_use_ssl(), http_files);
  if (!metrics.ok()) return metrics.status();
  grpc_certificate_ = *std::move(grpc);
  http_certificate_ = *std::move(http);
  metrics_certificate_ = *std::move(metrics);
  for (ServerCertificate* certificate :
       {grpc_certificate_.get(), http_certificate_.get(), metrics_certificate_.get()}) {
    if (certificate != nullptr) watched_.Add(certificate->files().names(), [certificate] { certificate->Reload(); });
  }
  return absl::OkStatus();
}

std::vector<absl::Status> Ports::CheckFiles(const config::Settings& settings) {
  std::vector<absl::Status> problems;
  const auto note = [&](const absl::Status& status) {
    if (!status.ok()) problems.push_back(status);
  };
  note(AccessControl::Create({AdministrationOf(settings, false), settings.token_file()}).status());
  const CertificateFiles grpc_files{settings.grpc_server_cert(), settings.grpc_server_key(), settings.grpc_root_cert()};
  const CertificateFiles http_files{settings.http_server_cert(), settings.http_server_key(), settings.http_root_cert()};
  note(LoadCertificate(settings.grpc_use_ssl_mutual(), settings.grpc_use_ssl(), grpc_files).status());
  note(LoadCertificate(settings.http_use_ssl_mutual(), settings.http_use_ssl(), http_files).status());
  note(LoadCertificate(settings.metrics_use_ssl_mutual(), settings.metrics_use_ssl(), http_files).status());
  return problems;
}

void Ports::SetBounds(grpc::ServerBuilder& builder) const {
  builder.SetMaxReceiveMessageSize(static_cast<int>(settings_.max_request_bytes()));
  builder.SetMaxSendMessageSize(-1);
  builder.AddChannelArgument(
      GRPC_ARG_MAX_CONCURRENT_STREAMS,
      static_cast<int>(std::min<int64_t>(StreamsOf(settings_), std::numeric_limits<int>::max())));
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMostReadMetadataBytes);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                             static_cast<int>(Milliseconds(settings_.grpc_idle_seconds()).count()));
  // A peer that is gone without a word is missed after the first two together.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, settings_.grpc_keepalive_time());
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, settings_.grpc_keepalive_timeout());
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS,
                             settings_.grpc_keepalive_permit_without_calls() ? 1 : 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, settings_.grpc_http2_max_pings_without_data());
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             settings_.grpc_http2_min_recv_ping_interval_without_data());
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, settings_.grpc_http2_max_ping_strikes());
  if (settings_.has_grpc_max_connection_age()) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, settings_.grpc_max_connection_age());
  }
  if (settings_.has_grpc_max_connection_age_grace()) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, settings_.grpc_max_connection_age_grace());
  }
  if (const auto level = CompressionLevelOf(settings_); level != GRPC_COMPRESS_LEVEL_NONE) {
    builder.SetDefaultCompressionLevel(level);
  }
}

absl::Status Ports::ServeGrpc(grpc::ServerBuilder& builder) {
  if (absl::Status status = GuardGrpc(BudgetOf(settings_), AddressRatesOf(settings_)); !status.ok()) return status;
  SetBounds(builder);
  auto connections = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      MakeGrpcCredentials(grpc_certificate_.get(), *access_));
  grpc_ = builder.BuildAndStart();
  if (grpc_ == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("cannot serve gRPC at ", Address(settings_.grpc_address(), *grpc_number_)));
  }
  acceptor_ = std::make_unique<GrpcAcceptor>(std::move(grpc_sockets_), std::move(connections),
                                             grpc_certificate_ == nullptr ? Transport::kPlain : Transport::kTls,
                                             settings_.grpc_max_connections());
  return absl::OkStatus();
}

absl::Status Ports::Serve(grpc::ServerBuilder& builder, std::shared_ptr<HttpHandler> http,
                          std::shared_ptr<HttpHandler> metrics) {
  if (grpc_number_.has_value()) {
    if (absl::Status status = ServeGrpc(builder); !status.ok()) return status;
  }
  HttpServer::Options options;
  options.max_connections = settings_.http_max_connections();
  options.handshake_time = options.header_time = Milliseconds(settings_.http_header_seconds());
  options.body_time = Milliseconds(settings_.http_body_seconds());
  options.idle_time = Milliseconds(settings_.http_idle_seconds());
  if (http_number_.has_value()) {
    options.certificate = http_certificate_.get();
    http_ = HttpServer::Start(options, std::move(http_sockets_), MakeGuardedHandler(std::move(http), *access_));
  }
  if (metrics_number_.has_value()) {
    options.certificate = metrics_certificate_.get();
    metrics_ =
        HttpServer::Start(options, std::move(metrics_sockets_), MakeGuardedHandler(std::move(metrics), *access_));
  }
  watched_.Start();
  return absl::OkStatus();
}

void Ports::Stop(std::chrono::steady_clock::time_point end) {
  acceptor_.reset();
  if (grpc_ != nullptr) {
    // Lets calls end, and cancels those that have not by then.
    grpc_->Shutdown(std::chrono::system_clock::now() + (end - std::chrono::steady_clock::now()));
    grpc_->Wait();
  }
  for (std::unique_ptr<HttpServer>* server : {&http_, &metrics_}) {
    if (*server != nullptr) (*server)->Drain(end);
    server->reset();
  }
}

}  // namespace hearth::server
