// Which of the versions on disk are to be served.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/inference/model_config.pb.h"

namespace hearth::server {

// `available` is ascending; so is the result, which is never empty. Without a policy the latest version is chosen.
// kNotFound if nothing is left to serve, naming the versions that a specific policy asks for and that are not there.
absl::StatusOr<std::vector<int64_t>> ChooseVersions(const inference::ModelVersionPolicy& policy,
                                                    const std::vector<int64_t>& available);

}  // namespace hearth::server
