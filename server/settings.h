// Settings that hearthd can run with: checked, and with what is computed when it starts. The rest of the server reads
// them from the message, whose getters give the defaults of proto/settings.proto.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/settings.pb.h"
#include "server/telemetry/log_control.h"

namespace hearth::server {

// Checks settings as flags and file gave them, gives choices the schema's spelling and sets what is not set and has a
// computed default. kInvalidArgument that names the first setting that is missing or out of its bounds, or those that
// exclude each other.
absl::StatusOr<config::Settings> CompleteSettings(config::Settings given);
// The same, of settings that are completed in their place: all that is wrong with them, with what settings exclude only
// where each by itself is right.
std::vector<absl::Status> FindProblems(config::Settings& given);

// HEARTH_LOG's if the settings say nothing of them.
LogLevels LogLevelsOf(const config::Settings& settings);

}  // namespace hearth::server
