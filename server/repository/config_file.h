// Reads a model's config.pbtxt from disk.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace hearth::server {

// The file's text; nothing only if there is no such entry in its folder. kFailedPrecondition with the reason for one
// that is there and cannot be read (a folder, a link to nowhere, no permission, an error of the disk), kInvalidArgument
// for one that is larger than a configuration may be (config_limits.h).
absl::StatusOr<std::optional<std::string>> ReadConfigFile(const std::filesystem::path& file);

}  // namespace hearth::server
