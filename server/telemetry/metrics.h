// Prometheus' view of the server. Nothing is counted twice: at each scrape the models' own statistics are read and
// turned into families under the names that Triton's dashboards know (nv_*) and hearth's own (hearth_*).
//
// nv_* families here mean what Triton means by them. Those that this server cannot give truthfully (caches, GPU
// counters, pinned pools) are absent instead of zero.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/telemetry/model_statistics.h"

namespace hearth::server {

// One version of a model at one moment.
struct ModelSample {
  std::string model;
  std::string version;
  StatisticsSnapshot statistics;
  uint64_t weight_bytes = 0;
  bool serving = false;
};

// Thread-safe as far as `models` is.
class MetricsCollector : public prometheus::Collectable {
 public:
  explicit MetricsCollector(std::function<std::vector<ModelSample>()> models) : models_(std::move(models)) {}

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  std::function<std::vector<ModelSample>()> models_;
};

// The text of /metrics (Prometheus' exposition format).
std::string MetricsText(const prometheus::Collectable& collector);

}  // namespace hearth::server
