// What a configuration says of its model's metrics (metric_tags, model_metrics), under Triton's names.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/inference/model_config.pb.h"
#include "server/telemetry/metric_settings.h"

namespace hearth::server {

// Every series of the model has them.
inline constexpr int kMostMetricTags = 16;
inline constexpr size_t kLongestMetricTag = 256;  // bytes of a value
inline constexpr int kMostHistogramBuckets = 64;  // with bounds

// A tag KEY is the label _KEY, as with Triton, so that none is one of hearth's own. kInvalidArgument for a key that
// makes no label of Prometheus', for too many or too long tags, for bounds that are not finite numbers in ascending
// order, or that the histogram's counts cannot tell apart.
absl::StatusOr<MetricSettings> MetricSettingsOf(const inference::ModelConfig& config);

// The families that a configuration has buckets for and models here do not have; in its order.
std::vector<std::string> UnknownHistograms(const inference::ModelConfig& config);

}  // namespace hearth::server
