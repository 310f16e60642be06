// The file that --config names: config.Settings (proto/settings.proto) in Protobuf's text format.
//
//   model_repository: "/models"
//   grpc_port: 9000
//   memory_limit: "2GiB"     # or the number of bytes
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "proto/settings.pb.h"

namespace hearth::server {

// What the file sets; bounds are not looked at (CompleteSettings). kInvalidArgument with file, line and column for what
// is no setting or no value of it; with the reason if the file cannot be read, or has more than a mebibyte.
absl::StatusOr<config::Settings> ReadSettingsFile(const std::string& file);

// The same of its text; `file` is for messages.
absl::StatusOr<config::Settings> ParseSettings(const std::string& text, const std::string& file);

}  // namespace hearth::server
