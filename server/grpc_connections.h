// How gRPC is to treat its connections: sizes of messages, pings, ages, compression.
#pragma once

#include <grpcpp/server_builder.h>

#include "proto/settings.pb.h"

namespace hearth::server {

// `settings` are complete.
void SetConnectionOptions(grpc::ServerBuilder& builder, const config::Settings& settings);

}  // namespace hearth::server
