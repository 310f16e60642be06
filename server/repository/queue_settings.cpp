#include "server/repository/queue_settings.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace hearth::server {
namespace {

// Longer than anything waits, and far from what a clock can count.
constexpr uint64_t kLongestMicroseconds = uint64_t{365} * 24 * 3600 * 1'000'000;

std::chrono::microseconds MicrosecondsOf(uint64_t count) {
  return std::chrono::microseconds(static_cast<int64_t>(std::min(count, kLongestMicroseconds)));
}

template <typename... Parts>
absl::Status WrongBatching(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("dynamic_batching.", parts...));
}

QueueSettings::Policy PolicyOf(const inference::ModelQueuePolicy& policy) {
  return {.max_waiting = policy.max_queue_size(),
          .timeout = MicrosecondsOf(policy.default_timeout_microseconds()),
          .delays = policy.timeout_action() == inference::ModelQueuePolicy::DELAY,
          .may_shorten = policy.allow_timeout_override()};
}

// Requests of different sequences are run together; those of one come one after the other.
void BatchSequences(const inference::ModelConfig& config, QueueSettings& settings) {
  if (config.max_batch_size() < 2) return;
  const inference::ModelSequenceBatching& batching = config.sequence_batching();
  settings.max_rows = config.max_batch_size();
  const auto& preferred = batching.oldest().preferred_batch_size();
  settings.preferred = {preferred.begin(), preferred.end()};
  std::ranges::sort(settings.preferred);
  settings.delay = MicrosecondsOf(batching.has_oldest() ? batching.oldest().max_queue_delay_microseconds()
                                                        : batching.direct().max_queue_delay_microseconds());
}

bool Batches(const inference::ModelConfig& config) {
  return config.has_dynamic_batching() && config.max_batch_size() > 1;
}

// Null where the configuration does not say.
const std::string* ParameterIn(const inference::ModelConfig& config, const char* name) {
  const auto found = config.parameters().find(name);
  return found == config.parameters().end() ? nullptr : &found->second.string_value();
}

// Nothing for a text that is not what it must be.
std::optional<std::vector<int64_t>> ParseAllowedSizes(const std::string& text, int64_t max_rows) {
  std::vector<int64_t> sizes;
  if (text == "any") return sizes;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    int64_t size = 0;
    if (!absl::SimpleAtoi(part, &size) || size <= (sizes.empty() ? 0 : sizes.back())) return std::nullopt;
    sizes.push_back(size);
  }
  if (sizes.back() != max_rows) return std::nullopt;
  return sizes;
}

absl::Status CheckAllowedSizes(const inference::ModelConfig& config) {
  const std::string* text = ParameterIn(config, kAllowedBatchSizes);
  if (text == nullptr || ParseAllowedSizes(*text, config.max_batch_size())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the parameter ", kAllowedBatchSizes, " is '", *text,
                                                 "'; it must be 'any', or sizes in ascending order with commas between "
                                                 "them, of which the last is max_batch_size, which is ",
                                                 config.max_batch_size()));
}

absl::Status CheckSplitting(const inference::ModelConfig& config) {
  const std::string* text = ParameterIn(config, kSplitLargeRequests);
  if (text == nullptr || *text == "true" || *text == "false") return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the parameter ", kSplitLargeRequests, " is '", *text, "'; it must be 'true' or 'false'"));
}

absl::Status CheckOrder(const inference::ModelDynamicBatching& batching) {
  if (!batching.preserve_ordering()) return absl::OkStatus();
  if (batching.priority_levels() > 1) {
    return WrongBatching("preserve_ordering is true and priority_levels is ", batching.priority_levels(),
                         "; the order of requests is kept where all have the same priority");
  }
  const bool delays = batching.default_queue_policy().timeout_action() == inference::ModelQueuePolicy::DELAY;
  if (!delays) return absl::OkStatus();
  return WrongBatching(
      "preserve_ordering is true and default_queue_policy.timeout_action is DELAY, which changes the order");
}

// A priority of N is a share of 1/N; the groups are one here, and the best priority holds.
double WeightOf(const inference::ModelConfig& config) {
  uint32_t best = 0;
  for (const inference::ModelInstanceGroup& group : config.instance_group()) {
    const uint32_t priority = std::max(group.rate_limiter().priority(), 1U);
    if (best == 0 || priority < best) best = priority;
  }
  return 1.0 / std::max(best, 1U);
}

}  // namespace

QueueSettings QueueSettingsOf(const inference::ModelConfig& config, size_t num_gpus) {
  QueueSettings settings;
  settings.weight = WeightOf(config);
  if (config.has_sequence_batching()) BatchSequences(config, settings);
  if (!config.has_dynamic_batching()) return settings;
  const inference::ModelDynamicBatching& batching = config.dynamic_batching();
  if (Batches(config)) {
    settings.max_rows = config.max_batch_size();
    settings.preferred = {batching.preferred_batch_size().begin(), batching.preferred_batch_size().end()};
    std::ranges::sort(settings.preferred);
    if (batching.has_max_queue_delay_microseconds())
      settings.delay = MicrosecondsOf(batching.max_queue_delay_microseconds());
    settings.keeps_order = batching.preserve_ordering();
    if (const std::string* text = ParameterIn(config, kAllowedBatchSizes)) {
      settings.allowed = ParseAllowedSizes(*text, settings.max_rows);
    }
    const std::string* splits = ParameterIn(config, kSplitLargeRequests);
    settings.splits = splits != nullptr && *splits == "true";
    settings.padding = PaddingOf(config).value_or(BatchPadding());
  }
  for (const inference::ModelInstanceGroup& group : config.instance_group()) {
    // A group that names no GPU has instances on each.
    const auto gpus = group.gpus_size() > 0 ? static_cast<int64_t>(group.gpus_size()) : static_cast<int64_t>(num_gpus);
    settings.runs += static_cast<int64_t>(std::max(group.count(), 1)) * std::max<int64_t>(gpus, 1);
  }
  if (settings.keeps_order) settings.runs = 1;
  settings.levels.assign(std::max<uint64_t>(batching.priority_levels(), 1), PolicyOf(batching.default_queue_policy()));
  for (const auto& [level, policy] : batching.priority_queue_policy()) settings.levels.at(level - 1) = PolicyOf(policy);
  settings.default_level = static_cast<int64_t>(std::max<uint64_t>(batching.default_priority_level(), 1));
  return settings;
}

bool IsBatchParameter(const inference::ModelConfig& config, const std::string& name) {
  if (!Batches(config)) return false;
  return name == kAllowedBatchSizes || name == kSplitLargeRequests || name == kPadInputs || name == kTrimOutputs ||
         name == kPadMultiple || name == kPaddingFactor;
}

absl::Status CheckDynamicBatching(const inference::ModelConfig& config) {
  if (!config.has_dynamic_batching()) return absl::OkStatus();
  const inference::ModelDynamicBatching& batching = config.dynamic_batching();
  for (const int32_t size : batching.preferred_batch_size()) {
    if (size >= 1 && size <= config.max_batch_size()) continue;
    return WrongBatching("preferred_batch_size is ", size, "; it must be from 1 to max_batch_size, which is ",
                         config.max_batch_size());
  }
  if (Batches(config)) {
    if (absl::Status status = CheckAllowedSizes(config); !status.ok()) return status;
    if (absl::Status status = CheckSplitting(config); !status.ok()) return status;
    if (const auto padding = PaddingOf(config); !padding.ok()) return padding.status();
  }
  const uint64_t levels = batching.priority_levels();
  if (levels > kMostPriorityLevels) {
    return WrongBatching("priority_levels is ", levels, "; a model may have ", kMostPriorityLevels);
  }
  const uint64_t level = batching.default_priority_level();
  if (levels == 0 && level != 0) {
    return WrongBatching("default_priority_level is ", level, "; it needs priority_levels, which is not set");
  }
  if (levels > 0 && (level < 1 || level > levels)) {
    return WrongBatching("default_priority_level is ", level, "; it must be from 1 to priority_levels, which is ",
                         levels);
  }
  for (const auto& [of_level, policy] : batching.priority_queue_policy()) {
    if (of_level >= 1 && of_level <= levels) continue;
    return WrongBatching("priority_queue_policy has a policy for the level ", of_level,
                         "; levels are from 1 to priority_levels, which is ", levels);
  }
  return CheckOrder(batching);
}

std::vector<std::string> IgnoredOfDynamicBatching(const inference::ModelConfig& config) {
  if (!config.has_dynamic_batching() || Batches(config)) return {};
  const std::string why =
      absl::StrCat(" (max_batch_size is ", config.max_batch_size(), ", so each request is run by itself)");
  std::vector<std::string> ignored;
  const inference::ModelDynamicBatching& batching = config.dynamic_batching();
  if (batching.max_queue_delay_microseconds() > 0) {
    ignored.push_back("dynamic_batching.max_queue_delay_microseconds" + why);
  }
  if (batching.preserve_ordering()) ignored.push_back("dynamic_batching.preserve_ordering" + why);
  // The whole of it, where it asks for nothing but batches.
  if (ignored.empty() && !batching.has_default_queue_policy() && batching.priority_levels() == 0) {
    ignored.push_back("dynamic_batching" + why);
  }
  return ignored;
}

}  // namespace hearth::server
