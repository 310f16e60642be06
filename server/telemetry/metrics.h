// Prometheus' view of the server. Nothing is counted twice: at each scrape the models' own statistics are read and
// turned into families under the names that Triton's dashboards know (nv_*) and hearth's own (hearth_*).
//
// nv_* families here mean what Triton means by them. Those that this server cannot give truthfully (caches, pinned
// pools; GPUs where none is used) are absent instead of zero.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jit/support/memory_use.h"
#include "server/telemetry/gpu_reader.h"
#include "server/telemetry/model_statistics.h"
#include "server/telemetry/tracer.h"

namespace hearth::server {

// One version of a model at one moment.
struct ModelSample {
  std::string model;
  std::string version;  // empty where none is known
  StatisticsSnapshot statistics;
  bool loaded = false;  // what follows is known
  bool ready = false;   // it takes requests
  uint64_t weight_bytes = 0;
  uint64_t code_bytes = 0;
  uint64_t argument_specs = 0;         // argument specs that calls came with
  std::array<uint64_t, 2> plans = {};  // of tiers 1 and 2
  uint64_t plan_bytes = 0;
  uint64_t weight_copy_bytes = 0;
  uint64_t recorded_bytes = 0;  // of a GPU's memory
  uint64_t plan_bailouts = 0;
  uint64_t plan_exceptions = 0;
  uint64_t guard_failures = 0;
  std::array<uint64_t, 3> calls = {};  // by the tier that began them, the baseline first
};

// What the background compiler has done at one moment.
struct CompilerSample {
  uint64_t queued = 0;
  uint64_t running = 0;
  uint64_t done = 0;
  uint64_t failed = 0;
  uint64_t cancelled = 0;
  uint64_t dropped = 0;
  double processor_seconds = 0;
  uint64_t shadow_runs = 0;
  uint64_t shadow_differences = 0;
  uint64_t kernels_made = 0;
  uint64_t kernels_read = 0;
  uint64_t kernels_failed = 0;
  uint64_t kernels_waiting = 0;
};

// What was downloaded of models in object storage, and how often that failed.
struct MirrorSample {
  uint64_t files = 0;
  uint64_t bytes = 0;
  uint64_t failures = 0;
};

// The memory of all versions at one moment, and how often models were unloaded and loaded again for it.
struct MemorySample {
  MemoryUse held = {};
  uint64_t limit = 0;      // of the host's memory; 0: none
  uint64_t gpu_limit = 0;  // of each GPU's
  uint64_t unloaded_for_time = 0;
  uint64_t unloaded_for_room = 0;
  uint64_t loaded_again = 0;
};

// How many there were, by a reason's name.
using CountsByReason = std::vector<std::pair<std::string, uint64_t>>;

// Thread-safe as far as what it is given is.
class MetricsCollector : public prometheus::Collectable {
 public:
  // `ended_connections`: those of gRPC that were ended for what the client sent. It and `gpus` may be empty.
  MetricsCollector(std::function<std::vector<ModelSample>()> models, std::function<CompilerSample()> compiler,
                   std::function<GpuReading()> gpus = nullptr,
                   std::function<CountsByReason()> ended_connections = nullptr)
      : models_(std::move(models)),
        compiler_(std::move(compiler)),
        gpus_(std::move(gpus)),
        ended_connections_(std::move(ended_connections)) {}

  // Where requests are traced. Call before the first Collect.
  void ShowTraces(std::function<TraceCounts()> traces) { traces_ = std::move(traces); }

  // Call before the first Collect.
  void ShowMemory(std::function<MemorySample()> memory) { memory_ = std::move(memory); }
  void ShowMirrors(std::function<MirrorSample()> mirrors) { mirrors_ = std::move(mirrors); }
  // How many sequences of requests are under way.
  void ShowSequences(std::function<size_t()> sequences) { sequences_ = std::move(sequences); }

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  std::function<std::vector<ModelSample>()> models_;
  std::function<CompilerSample()> compiler_;
  std::function<GpuReading()> gpus_;
  std::function<CountsByReason()> ended_connections_;
  std::function<TraceCounts()> traces_;
  std::function<MemorySample()> memory_;
  std::function<MirrorSample()> mirrors_;
  std::function<size_t()> sequences_;
};

// The text of /metrics (Prometheus' exposition format).
std::string MetricsText(const prometheus::Collectable& collector);

}  // namespace hearth::server
