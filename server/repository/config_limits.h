// How large a model's configuration may be, in any of its fields: a client may send one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/inference/model_config.pb.h"

namespace hearth::server {

inline constexpr size_t kMostConfigBytes = size_t{1} << 20;  // of its text
inline constexpr int kMostConfigEntries = 1024;              // of each list and map
inline constexpr int kHighestRank = 64;                      // LibTorch's operators take no tensor of more dimensions
inline constexpr size_t kLongestConfigName = 1024;           // bytes of a field `name` and of a map's key
inline constexpr int kDeepestConfig = 64;                    // messages in each other, as they are written out

// Of model_warmup. Elements of BYTES count with the size of an empty string.
inline constexpr int64_t kMostSampleBytes = int64_t{1} << 30;   // a sample's tensors
inline constexpr int64_t kMostWarmupRuns = 10'000;              // all samples' `count`
inline constexpr int64_t kMostWarmupBytes = int64_t{64} << 30;  // the tensors of all those runs

// kInvalidArgument for a text that is too long; `what` names it.
absl::Status CheckConfigText(absl::string_view text, const std::string& what);

// Checks every field of every message in it: enumerations have a value that is defined, signed numbers are not below 0
// unless they are sizes or levels, lists, maps and names are no longer than they may be, strings are UTF-8.
// kInvalidArgument with "input[0].data_type is 99, which is no DataType" for the first that is wrong.
absl::Status CheckConfigLimits(const inference::ModelConfig& config);

}  // namespace hearth::server
