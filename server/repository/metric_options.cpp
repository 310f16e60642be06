#include "server/repository/metric_options.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "absl/strings/str_cat.h"
#include "server/telemetry/model_statistics.h"

namespace hearth::server {
namespace {

using MetricControl = inference::ModelMetrics::MetricControl;

template <typename... Parts>
absl::Status WrongMetrics(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// Of Prometheus' names of labels those that begin with "__" are its own.
bool IsLabel(const std::string& label) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto fits = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  return label.size() > 1 && is_letter(label[0]) && !label.starts_with("__") && std::ranges::all_of(label, fits);
}

absl::Status ReadTags(const inference::ModelConfig& config, MetricSettings& settings) {
  if (config.metric_tags_size() > kMostMetricTags) {
    return WrongMetrics("metric_tags has ", config.metric_tags_size(), " tags; there may be ", kMostMetricTags);
  }
  for (const auto& [key, value] : config.metric_tags()) {
    const std::string label = absl::StrCat("_", key);
    if (!IsLabel(label)) {
      return WrongMetrics("metric_tags has the key '", key, "', which makes the label '", label,
                          "'; a key is of letters, digits and _, and does not begin with _");
    }
    if (value.size() > kLongestMetricTag) {
      return WrongMetrics("metric_tags has a value of ", value.size(), " bytes for '", key, "'; it may have ",
                          kLongestMetricTag);
    }
    settings.labels[label] = value;
  }
  return absl::OkStatus();
}

const HistogramOfModels* FindHistogram(const std::string& family) {
  const auto found = std::ranges::find(kHistogramsOfModels, family, &HistogramOfModels::family);
  return found == kHistogramsOfModels.end() ? nullptr : &*found;
}

absl::Status ReadBuckets(const MetricControl& control, MetricSettings& settings) {
  const std::string& family = control.metric_identifier().family();
  if (family.empty()) return WrongMetrics("model_metrics has a metric_control without a family");
  const auto& buckets = control.histogram_options().buckets();
  const auto wrong = [&](const auto&... words) {
    return WrongMetrics("model_metrics has buckets for ", family, words...);
  };
  if (buckets.size() > kMostHistogramBuckets) return wrong(" that are more than ", kMostHistogramBuckets);
  if (!std::ranges::all_of(buckets, [](double bound) { return std::isfinite(bound); })) {
    return wrong(" with a bound that is no finite number; that of the last bucket is understood");
  }
  if (std::ranges::adjacent_find(buckets, std::greater_equal<>()) != buckets.end()) {
    return wrong(" that do not ascend");
  }
  const HistogramOfModels* histogram = FindHistogram(family);
  if (histogram == nullptr) return absl::OkStatus();
  std::vector<double>& bounds = settings.*histogram->bounds;
  if (!bounds.empty()) return wrong(" twice");
  bounds.assign(buckets.begin(), buckets.end());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MetricSettings> MetricSettingsOf(const inference::ModelConfig& config) {
  MetricSettings settings;
  if (absl::Status status = ReadTags(config, settings); !status.ok()) return status;
  for (const MetricControl& control : config.model_metrics().metric_control()) {
    if (absl::Status status = ReadBuckets(control, settings); !status.ok()) return status;
  }
  if (!settings.batch_sizes.empty() && settings.batch_sizes.back() >= kLargestOwnBatch) {
    return WrongMetrics("model_metrics has buckets for hearth_batch_size with the bound ", settings.batch_sizes.back(),
                        "; larger ones than ", kLargestOwnBatch - 1, " are not told apart");
  }
  return settings;
}

std::vector<std::string> UnknownHistograms(const inference::ModelConfig& config) {
  std::vector<std::string> unknown;
  for (const MetricControl& control : config.model_metrics().metric_control()) {
    const std::string& family = control.metric_identifier().family();
    if (FindHistogram(family) == nullptr) unknown.push_back(family);
  }
  return unknown;
}

}  // namespace hearth::server
