// The labels of a model's outputs: for each output whose configuration names a file (label_filename), the lines of that
// file in the model's folder, by index.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/inference/model_config.pb.h"

namespace hearth::server {

inline constexpr size_t kMostLabelBytes = size_t{4} << 20;  // of one file
inline constexpr size_t kMostLabels = size_t{1} << 18;      // of a model

using Labels = std::map<std::string, std::vector<std::string>>;  // by the output's name

// Where a path really lies, or why it must not be followed (ResolveWithin).
using PathResolver = std::function<absl::StatusOr<std::filesystem::path>(const std::filesystem::path&)>;

// kInvalidArgument for a name that leads out of the folder, and for too many labels or bytes; kFailedPrecondition for a
// file that cannot be read.
absl::StatusOr<Labels> ReadLabels(const std::filesystem::path& folder, const inference::ModelConfig& config,
                                  const PathResolver& resolve);

}  // namespace hearth::server
