// Reads a model's config.pbtxt, and says what of it this server honours.
//
//   honoured   name, platform, backend, default_model_filename, version_policy, max_batch_size, input and output (name,
//              data_type, dims, reshape, optional, label_filename),
//              dynamic_batching and, for it, instance_group.count (queue_settings.h), instance_group.gpus,
//              instance_group.rate_limiter.priority, response_cache (where the server has a cache),
//              model_operations.op_library_filename (where the server allows it: repository.h), the
//              parameters memory_limit, requests_memory_limit, compile_after, exact_after, max_plans, plan_bytes,
//              max_running, max_queue_milliseconds and max_run_seconds, allowed_batch_sizes and
//              split_large_requests (queue_settings.h), pad_inputs and what goes with it (batch_padding.h),
//              version_labels and traffic_split (version_routing.h), keep_previous (served_set.h), shadow_requests and
//              what goes with it (shadow_traffic.h), model_warmup, metric_tags and model_metrics
//              (metric_options.h), sequence_batching (sequence_settings.h),
//              ensemble_scheduling, which makes it an ensemble (ensemble_graph.h)
//   refused    what would change answers if it were ignored: decoupled transactions, batch_input and batch_output,
//              iterative sequences, repository agents, shape tensors, another backend
//   ignored    what only tunes: the rest. Each such field that a file sets is named in a warning.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/inference/model_config.pb.h"

namespace hearth::server {

// In a model's folder.
inline constexpr const char* kConfigFile = "config.pbtxt";

inline constexpr const char* kPlatform = "pytorch_libtorch";
inline constexpr const char* kBackend = "pytorch";
inline constexpr const char* kDefaultModelFilename = "model.pt";

// Parses the text format. kInvalidArgument with "FILE:LINE:COLUMN: what" for anything that is not a ModelConfig; a
// field that does not exist is named.
absl::StatusOr<inference::ModelConfig> ParseModelConfig(const std::string& text, const std::string& file);

// Parses the JSON form that RepositoryModelLoad carries in its "config" parameter.
absl::StatusOr<inference::ModelConfig> ParseModelConfigJson(const std::string& json);

struct CheckedConfig {
  inference::ModelConfig config;      // with defaults filled in
  std::vector<std::string> warnings;  // one for each field that is set and ignored
};

// Checks a configuration for the model of the folder `name`. kInvalidArgument for a value that makes no sense,
// kUnimplemented for what is refused (see above).
absl::StatusOr<CheckedConfig> CheckModelConfig(inference::ModelConfig config, const std::string& name);

// The parameters of those names, in place of the server's settings; none where they are not there.
struct ModelSettings {
  std::optional<int64_t> memory_limit;           // bytes that a request may come to hold; 0: no limit
  std::optional<int64_t> requests_memory_limit;  // that all its requests may together
  std::optional<int64_t> compile_after;          // calls with arguments of one spec
  std::optional<int64_t> exact_after;            // calls with tensors of the same sizes; 0: never
  std::optional<int64_t> max_plans;              // argument specs without a plan included
  std::optional<int64_t> plan_bytes;
  std::optional<int64_t> max_running;             // runs at once
  std::optional<int64_t> max_queue_milliseconds;  // that a request may wait; 0: any time
  std::optional<double> max_run_seconds;          // that a run may take; 0: any time
};
// kInvalidArgument for one that is no number, too small or too large.
absl::StatusOr<ModelSettings> SettingsOf(const inference::ModelConfig& config);

// The GPUs that instance groups name, none twice; empty: any.
std::vector<int> GpusOf(const inference::ModelConfig& config);

// The configuration of the model in `folder`: its config.pbtxt, or defaults if it has none.
absl::StatusOr<CheckedConfig> ReadModelConfig(const std::filesystem::path& folder);

}  // namespace hearth::server
