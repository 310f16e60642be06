#include "server/grpc_connections.h"

#include <grpc/compression.h>
#include <grpc/grpc.h>

#include <string>

namespace hearth::server {
namespace {

grpc_compression_level CompressionLevelOf(const config::Settings& settings) {
  const std::string& level = settings.grpc_infer_response_compression_level();
  if (level == "low") return GRPC_COMPRESS_LEVEL_LOW;
  if (level == "medium") return GRPC_COMPRESS_LEVEL_MED;
  return level == "high" ? GRPC_COMPRESS_LEVEL_HIGH : GRPC_COMPRESS_LEVEL_NONE;
}

}  // namespace

void SetConnectionOptions(grpc::ServerBuilder& builder, const config::Settings& settings) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(settings.max_request_bytes()));
  builder.SetMaxSendMessageSize(-1);
  // Two daemons on one port would share its connections unnoticed.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  if (const grpc_compression_level level = CompressionLevelOf(settings); level != GRPC_COMPRESS_LEVEL_NONE) {
    builder.SetDefaultCompressionLevel(level);
  }
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, settings.grpc_keepalive_time());
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, settings.grpc_keepalive_timeout());
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS,
                             settings.grpc_keepalive_permit_without_calls() ? 1 : 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, settings.grpc_http2_max_pings_without_data());
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             settings.grpc_http2_min_recv_ping_interval_without_data());
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, settings.grpc_http2_max_ping_strikes());
  if (settings.has_grpc_max_connection_age()) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, settings.grpc_max_connection_age());
  }
  if (settings.has_grpc_max_connection_age_grace()) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, settings.grpc_max_connection_age_grace());
  }
}

}  // namespace hearth::server
