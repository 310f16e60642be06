// Small files that somebody else writes: configurations, certificates, keys, tokens.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "absl/status/statusor.h"

namespace hearth::server {

constexpr size_t kMostSecretFileBytes = 1 << 20;

// The whole text; links are followed, and a pipe does not block. kFailedPrecondition, naming the file, if it cannot be
// read or is no regular file; kInvalidArgument if it has more than `most_bytes`.
absl::StatusOr<std::string> ReadTextFile(const std::filesystem::path& file, size_t most_bytes = kMostSecretFileBytes);

}  // namespace hearth::server
