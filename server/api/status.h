// From absl::Status to gRPC's, whose codes are the same numbers.
#pragma once

#include <grpcpp/support/status.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace hearth::server {

// gRPC sends a status' message in a header, which clients bound at 8 KB: a longer message (a deep traceback) keeps its
// beginning and its end.
grpc::Status ToGrpc(const absl::Status& status);

// `message`, at most about `limit` bytes as gRPC encodes it, cut in the middle between characters. Bytes that are not
// UTF-8 are replaced by '?'.
std::string FitHeader(std::string_view message, size_t limit);

}  // namespace hearth::server
