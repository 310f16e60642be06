// From absl::Status to gRPC's, whose codes are the same numbers.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace hearth::server {

// gRPC sends a status' message in a header, which clients bound at 8 KB: a longer message (a deep traceback) keeps its
// beginning and its end. Retry advice becomes a detail, google.rpc.RetryInfo.
grpc::Status ToGrpc(const absl::Status& status);

// The same with retry advice also where gRPC's own clients look for it, in trailing metadata.
grpc::Status ToGrpc(const absl::Status& status, grpc::ServerContextBase& context);

// `message`, at most about `limit` bytes as gRPC encodes it, cut in the middle between characters. Bytes that are not
// UTF-8 are replaced by '?'.
std::string FitHeader(std::string_view message, size_t limit);

}  // namespace hearth::server
