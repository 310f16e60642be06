// What a model's configuration says of its metrics: labels beside `model` and `version`, and the buckets of its
// histograms.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

namespace hearth::server {

struct MetricSettings {
  std::map<std::string, std::string> labels = {};
  // Upper bounds of the buckets of one histogram each, ascending, but for the last bucket, which has none. Empty: those
  // that all models have. Times are in seconds.
  std::vector<double> request_durations = {};
  std::vector<double> queue_durations = {};
  std::vector<double> compute_durations = {};
  std::vector<double> batch_sizes = {};
};

// The histograms that each model has, by the names of their families.
struct HistogramOfModels {
  const char* family;
  std::vector<double> MetricSettings::*bounds;
};
inline constexpr std::array<HistogramOfModels, 4> kHistogramsOfModels = {{
    {"hearth_request_duration_seconds", &MetricSettings::request_durations},
    {"hearth_queue_duration_seconds", &MetricSettings::queue_durations},
    {"hearth_compute_duration_seconds", &MetricSettings::compute_durations},
    {"hearth_batch_size", &MetricSettings::batch_sizes},
}};

}  // namespace hearth::server
