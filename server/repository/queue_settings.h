// How requests to a model wait, and which of them are run together: a configuration's dynamic_batching, with
// max_batch_size and instance_group, under Triton's names and with Triton's meaning.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/inference/model_config.pb.h"
#include "server/repository/batch_padding.h"

namespace hearth::server {

// Levels of priority that a model may have.
inline constexpr uint64_t kMostPriorityLevels = 1024;

// The parameter of a configuration for QueueSettings::allowed: "any", or sizes in ascending order of which the last is
// max_batch_size, with commas between them.
inline constexpr char kAllowedBatchSizes[] = "allowed_batch_sizes";

// The parameter for QueueSettings::splits: "true" or "false".
inline constexpr char kSplitLargeRequests[] = "split_large_requests";
// Of one request, at most.
inline constexpr int64_t kMostPartsOfRequest = 256;

struct QueueSettings {
  // Of the requests of one level.
  struct Policy {
    int64_t max_waiting = 0;               // 0: as many as the server allows
    std::chrono::microseconds timeout{0};  // in the queue; 0: none
    bool delays = false;                   // behind all others of the level when it has passed, in place of an error
    bool may_shorten = false;              // a request's own timeout bounds its time in the queue, if that is shorter
  };

  int64_t max_rows = 1;            // of a batch; 1: each request is run by itself
  std::vector<int64_t> preferred;  // rows of batches that wait for no more, ascending
  // The rows that batches have when they are run, ascending, padded where they have fewer: kAllowedBatchSizes. Empty:
  // any; nothing where the configuration does not say.
  std::optional<std::vector<int64_t>> allowed;
  // Whether a request with more rows than max_rows is run in parts of so many, and one that is too large for that is
  // refused. Otherwise it is run by itself, if it is let in.
  bool splits = false;
  BatchPadding padding;
  // The longest wait of a batch for further requests; 0: none; nothing: as long as it is worth it
  // (scheduling/batch_delay.h).
  std::optional<std::chrono::microseconds> delay;
  bool keeps_order = false;
  int64_t runs = 0;  // that may be under way at once; 0: the configuration does not say
  bool limits_runs = false;
  std::optional<std::chrono::milliseconds> longest_wait;  // in the queue; 0: any time; nothing: as the server says
  // Among models whose requests wait: the more, the more of the time of all runs (scheduling/fair_shares.h).
  double weight = 1;
  // Of levels 1 and so on; one for a model whose requests are all alike.
  std::vector<Policy> levels = {{}};
  int64_t default_level = 1;

  // Of requests with that priority; 0, and what is no level: the default.
  int64_t LevelOf(uint64_t priority) const {
    return priority == 0 || priority > levels.size() ? default_level : static_cast<int64_t>(priority);
  }
  const Policy& PolicyOf(uint64_t priority) const { return levels[LevelOf(priority) - 1]; }

  bool batches() const { return max_rows > 1; }
  // Rows of a request.
  int64_t most_request_rows() const { return splits ? max_rows * kMostPartsOfRequest : max_rows; }
  bool has_levels() const { return levels.size() > 1; }
  // Whether the configuration says how requests wait, beyond how many may.
  bool queues() const {
    return batches() || has_levels() || levels[0].timeout.count() > 0 || levels[0].may_shorten || limits_runs;
  }
  // At most so many runs at once, batched or not.
  void LimitRuns(int64_t most) {
    limits_runs = true;
    runs = runs == 0 ? most : std::min(runs, most);
  }
};

// Of a configuration that is checked, or makes sense, on a server with so many GPUs.
QueueSettings QueueSettingsOf(const inference::ModelConfig& config, size_t num_gpus = 0);

// Whether it is a parameter that batches of the configuration are made by.
bool IsBatchParameter(const inference::ModelConfig& config, const std::string& name);

// kInvalidArgument with "dynamic_batching.preferred_batch_size is 9; ..." for what makes no sense.
absl::Status CheckDynamicBatching(const inference::ModelConfig& config);

// The fields of dynamic_batching that are set and have no effect, each with the reason.
std::vector<std::string> IgnoredOfDynamicBatching(const inference::ModelConfig& config);

}  // namespace hearth::server
