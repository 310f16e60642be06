// Which version of a model answers a request that names a label in place of a version, or no version. The model's
// configuration says it, in two parameters:
//
//   parameters { key: "version_labels" value { string_value: "stable=1, canary=2" } }
//   parameters { key: "traffic_split" value { string_value: "stable=90, canary=10" } }
//
// A part of the split is a label or a version, with its percentage of the requests that name no version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/inference/model_config.pb.h"

namespace hearth::server {

inline constexpr const char* kVersionLabels = "version_labels";
inline constexpr const char* kTrafficSplit = "traffic_split";

inline constexpr size_t kMostVersionLabels = 64;  // of a model; and as many parts of a split
inline constexpr size_t kLongestVersionLabel = 64;

// A letter, then letters, digits, '_', '-' and '.': never what a version's number looks like.
bool IsVersionLabel(std::string_view text);

struct VersionRouting {
  std::map<std::string, int64_t> labels;
  std::map<int64_t, int> percents;  // by version; their sum is 100. Empty: the highest version answers
};

// kInvalidArgument for a parameter that is not of the form above, a part twice, a label that is not there, percentages
// that do not add up.
absl::StatusOr<VersionRouting> RoutingOf(const inference::ModelConfig& config);

// kInvalidArgument for a label or part whose version is none of `chosen`, which the version policy chose.
absl::Status CheckRouting(const VersionRouting& routing, const std::vector<int64_t>& chosen);

// The number of the version that a client names by number or label; 0 for the empty name. kInvalidArgument for what is
// neither in form, kNotFound for a label that the model has not.
absl::StatusOr<int64_t> VersionNamed(const std::string& version, const VersionRouting& routing,
                                     const std::string& model);

// Versions in the order in which they take requests, to be gone through again and again: each as often as its
// percentage says, spread as evenly as that can be (smooth weighted round robin); the version of the highest percentage
// is first. Empty if no percentage is above 0.
std::vector<int64_t> TurnsOf(const std::map<int64_t, int>& percents);

}  // namespace hearth::server
