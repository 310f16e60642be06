#include "server/telemetry/metrics.h"

#include <prometheus/text_serializer.h>

#include <chrono>
#include <fstream>
#include <limits>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "jit/support/cpu_allocator.h"
#include "server/telemetry/process_usage.h"

namespace hearth::server {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

std::vector<ClientMetric::Label> LabelsOf(const ModelSample& sample) {
  std::vector<ClientMetric::Label> labels = {{"model", sample.model}, {"version", sample.version}};
  for (const auto& [name, value] : sample.statistics.labels) labels.push_back({name, value});
  return labels;
}

class FamilyBuilder {
 public:
  FamilyBuilder(std::string name, std::string help, MetricType type) {
    family_.name = std::move(name);
    family_.help = std::move(help);
    family_.type = type;
  }

  void Add(std::vector<ClientMetric::Label> labels, double value) {
    ClientMetric metric;
    metric.label = std::move(labels);
    if (family_.type == MetricType::Counter) {
      metric.counter.value = value;
    } else {
      metric.gauge.value = value;
    }
    family_.metric.push_back(std::move(metric));
  }

  MetricFamily Take() { return std::move(family_); }

 private:
  MetricFamily family_;
};

// Which versions have a value: all that are to be served, with an empty version for a model of which none is known; all
// that are known; or those that are loaded.
enum class Which { kListed, kKnown, kLoaded };

bool Has(const ModelSample& sample, Which which) {
  switch (which) {
    case Which::kListed:
      return true;
    case Which::kKnown:
      return !sample.version.empty();
    case Which::kLoaded:
      return sample.loaded;
  }
  return false;
}

// A family with one value a model version.
template <typename Value>
MetricFamily PerModel(const std::vector<ModelSample>& samples, Which which, const char* name, const char* help,
                      MetricType type, Value value) {
  FamilyBuilder family(name, help, type);
  for (const ModelSample& sample : samples) {
    if (Has(sample, which)) family.Add(LabelsOf(sample), static_cast<double>(value(sample)));
  }
  return family.Take();
}

// A family with a count for each reason.
template <typename Reason, size_t kReasons>
MetricFamily FamilyByReason(const std::vector<ModelSample>& samples, const char* name, const char* help,
                            const char* (*name_of)(Reason), std::array<uint64_t, kReasons> StatisticsSnapshot::*counts,
                            const char* label = "reason") {
  FamilyBuilder family(name, help, MetricType::Counter);
  for (const ModelSample& sample : samples) {
    if (!Has(sample, Which::kKnown)) continue;
    for (size_t reason = 0; reason < kReasons; ++reason) {
      auto labels = LabelsOf(sample);
      labels.push_back({label, name_of(static_cast<Reason>(reason))});
      family.Add(std::move(labels), static_cast<double>((sample.statistics.*counts)[reason]));
    }
  }
  return family.Take();
}

// A family with a value for each tier from `first` on.
template <typename Values>
MetricFamily ByTier(const std::vector<ModelSample>& samples, FamilyBuilder family, size_t first,
                    const Values ModelSample::*values) {
  for (const ModelSample& sample : samples) {
    if (!Has(sample, Which::kLoaded)) continue;
    size_t tier = first;
    for (const uint64_t value : sample.*values) {
      auto labels = LabelsOf(sample);
      labels.push_back({"tier", std::to_string(tier++)});
      family.Add(std::move(labels), static_cast<double>(value));
    }
  }
  return family.Take();
}

MetricFamily HistogramFamily(const std::vector<ModelSample>& samples, const char* name, const char* help,
                             TimeHistogram StatisticsSnapshot::*times) {
  MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = MetricType::Histogram;
  for (const ModelSample& sample : samples) {
    if (!Has(sample, Which::kKnown)) continue;
    ClientMetric metric;
    metric.label = LabelsOf(sample);
    const TimeHistogram& histogram = sample.statistics.*times;
    uint64_t cumulative = 0;
    for (size_t i = 0; i < histogram.buckets.size(); ++i) {
      cumulative += histogram.buckets[i];
      ClientMetric::Bucket bucket;
      bucket.cumulative_count = cumulative;
      bucket.upper_bound = i < histogram.bounds.size() ? histogram.bounds[i] : std::numeric_limits<double>::infinity();
      metric.histogram.bucket.push_back(bucket);
    }
    metric.histogram.sample_count = histogram.all.count;
    metric.histogram.sample_sum = static_cast<double>(histogram.all.ns) * 1e-9;
    family.metric.push_back(std::move(metric));
  }
  return family;
}

MetricFamily BatchSizeFamily(const std::vector<ModelSample>& samples) {
  MetricFamily family;
  family.name = "hearth_batch_size";
  family.help = "Batch elements of the model's runs that answered requests";
  family.type = MetricType::Histogram;
  for (const ModelSample& sample : samples) {
    if (!Has(sample, Which::kKnown)) continue;
    const StatisticsSnapshot& statistics = sample.statistics;
    ClientMetric metric;
    metric.label = LabelsOf(sample);
    uint64_t cumulative = 0;
    auto next = statistics.batches.begin();
    std::vector<double> bounds = statistics.batch_size_bounds;
    // The largest that is counted by itself stands for larger ones, too.
    if (bounds.empty()) {
      for (uint64_t bound = 1; bound < kLargestOwnBatch; bound *= 2) bounds.push_back(static_cast<double>(bound));
    }
    for (const double bound : bounds) {
      for (; next != statistics.batches.end() && static_cast<double>(next->first) <= bound; ++next) {
        cumulative += next->second.compute_infer.count;
      }
      metric.histogram.bucket.push_back({.cumulative_count = cumulative, .upper_bound = bound});
    }
    metric.histogram.bucket.push_back(
        {.cumulative_count = statistics.execution_count, .upper_bound = std::numeric_limits<double>::infinity()});
    metric.histogram.sample_count = statistics.execution_count;
    metric.histogram.sample_sum = static_cast<double>(statistics.executed_rows);
    family.metric.push_back(std::move(metric));
  }
  return family;
}

// Jiffies of all processors since boot, in use and in total.
struct ProcessorTime {
  uint64_t busy = 0;
  uint64_t total = 0;
};

ProcessorTime ReadProcessorTime() {
  std::ifstream file("/proc/stat");
  std::string label;
  file >> label;
  ProcessorTime time;
  uint64_t value = 0;
  // user, nice, system, idle, iowait, irq, softirq, steal; what follows is counted in these already.
  for (int column = 0; column < 8 && file >> value; ++column) {
    time.total += value;
    if (column != 3 && column != 4) time.busy += value;
  }
  return time;
}

// The share of all processors in use between the last two scrapes that were at least a second apart.
double ProcessorUse() {
  static std::mutex mutex;
  static ProcessorTime last = ReadProcessorTime();
  static auto last_time = std::chrono::steady_clock::now();
  static double use = 0;
  std::lock_guard lock(mutex);
  const auto now = std::chrono::steady_clock::now();
  if (now - last_time >= std::chrono::seconds(1)) {
    const ProcessorTime time = ReadProcessorTime();
    if (time.total > last.total) use = double(time.busy - last.busy) / double(time.total - last.total);
    last = time;
    last_time = now;
  }
  return use;
}

// Bytes of memory of the machine: total, and not available for new programs.
std::pair<double, double> MachineMemory() {
  std::ifstream file("/proc/meminfo");
  double total = 0, available = 0;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string key;
    double kilobytes = 0;
    fields >> key >> kilobytes;
    if (key == "MemTotal:") total = kilobytes * 1024;
    if (key == "MemAvailable:") available = kilobytes * 1024;
  }
  return {total, total - available};
}

MetricFamily Single(const char* name, const char* help, double value) {
  FamilyBuilder family(name, help, MetricType::Gauge);
  family.Add({}, value);
  return family.Take();
}

// A family with one value a GPU; nothing where no GPU tells it.
void AddGpuFamily(const std::vector<GpuSample>& gpus, FamilyBuilder family, std::optional<double> GpuSample::*value,
                  std::vector<MetricFamily>& families) {
  bool told = false;
  for (const GpuSample& gpu : gpus) {
    if (!(gpu.*value).has_value()) continue;
    family.Add({{"gpu_uuid", gpu.uuid}}, *(gpu.*value));
    told = true;
  }
  if (told) families.push_back(family.Take());
}

void AddGpus(const GpuReading& reading, std::vector<MetricFamily>& families) {
  constexpr MetricType kGauge = MetricType::Gauge;
  const auto add = [&](const char* name, const char* help, MetricType type, std::optional<double> GpuSample::*value) {
    AddGpuFamily(reading.gpus, {name, help, type}, value, families);
  };
  add("nv_gpu_utilization", "GPU utilization rate [0.0 - 1.0]", kGauge, &GpuSample::utilization);
  add("nv_gpu_memory_total_bytes", "GPU total memory, in bytes", kGauge, &GpuSample::memory_total);
  add("nv_gpu_memory_used_bytes", "GPU used memory, in bytes", kGauge, &GpuSample::memory_used);
  add("nv_gpu_power_usage", "GPU power usage in watts", kGauge, &GpuSample::power_usage);
  add("nv_gpu_power_limit", "GPU power management limit in watts", kGauge, &GpuSample::power_limit);
  add("nv_energy_consumption", "GPU energy consumption in joules since the driver was loaded", MetricType::Counter,
      &GpuSample::energy_consumption);
  add("hearth_gpu_temperature_celsius", "Temperature of the GPU", kGauge, &GpuSample::temperature);
  families.push_back(Single("hearth_gpus_lost", "GPUs that the driver counts and does not reach, or that need a reset",
                            static_cast<double>(reading.lost)));
}

MetricFamily CompilerOutcomes(const CompilerSample& compiler) {
  FamilyBuilder family("hearth_compilations_total", "How compiling plans ended", MetricType::Counter);
  family.Add({{"outcome", "done"}}, static_cast<double>(compiler.done));
  family.Add({{"outcome", "failed"}}, static_cast<double>(compiler.failed));
  family.Add({{"outcome", "cancelled"}}, static_cast<double>(compiler.cancelled));
  family.Add({{"outcome", "dropped"}}, static_cast<double>(compiler.dropped));
  return family.Take();
}

MetricFamily Traces(const TraceCounts& traces) {
  FamilyBuilder family("hearth_traces_total", "Requests that were traced, by what became of their spans",
                       MetricType::Counter);
  family.Add({{"outcome", "exported"}}, static_cast<double>(traces.exported));
  family.Add({{"outcome", "dropped"}}, static_cast<double>(traces.dropped));
  family.Add({{"outcome", "failed"}}, static_cast<double>(traces.failed));
  return family.Take();
}

void AddMemory(const MemorySample& memory, std::vector<MetricFamily>& families) {
  families.push_back(Single("hearth_models_memory_bytes",
                            "Memory that all versions of models hold, those that are being loaded too",
                            static_cast<double>(memory.held.host)));
  families.push_back(Single("hearth_models_memory_budget_bytes", "What they may hold for a load to begin; 0: no limit",
                            static_cast<double>(memory.limit)));
  FamilyBuilder on_gpus("hearth_models_gpu_memory_bytes", "The same of each GPU's memory", MetricType::Gauge);
  for (const auto& [gpu, bytes] : memory.held.gpus) {
    on_gpus.Add({{"gpu", absl::StrCat(gpu)}}, static_cast<double>(bytes));
  }
  if (!memory.held.gpus.empty()) families.push_back(on_gpus.Take());
  families.push_back(Single("hearth_models_gpu_memory_budget_bytes",
                            "What they may hold of each GPU's memory for a load to begin; 0: no limit",
                            static_cast<double>(memory.gpu_limit)));
  FamilyBuilder unloads("hearth_idle_unloads_total", "Models that were unloaded because nobody used them, by reason",
                        MetricType::Counter);
  unloads.Add({{"reason", "time"}}, static_cast<double>(memory.unloaded_for_time));
  unloads.Add({{"reason", "room"}}, static_cast<double>(memory.unloaded_for_room));
  families.push_back(unloads.Take());
  FamilyBuilder loads("hearth_idle_loads_total", "Loads of such models because they were asked for",
                      MetricType::Counter);
  loads.Add({}, static_cast<double>(memory.loaded_again));
  families.push_back(loads.Take());
}

void AddMirrors(const MirrorSample& mirrors, std::vector<MetricFamily>& families) {
  const auto add = [&](const char* name, const char* help, uint64_t value) {
    FamilyBuilder family(name, help, MetricType::Counter);
    family.Add({}, static_cast<double>(value));
    families.push_back(family.Take());
  };
  add("hearth_mirror_files_total", "Files of models that were downloaded from object storage", mirrors.files);
  add("hearth_mirror_bytes_total", "Their bytes", mirrors.bytes);
  add("hearth_mirror_failures_total", "Listings of object storage and downloads that failed", mirrors.failures);
}

MetricFamily FusedKernels(const CompilerSample& compiler) {
  FamilyBuilder family("hearth_fused_kernels",
                       "Fused kernels by what became of them: made, read from the cache, without code for good, not "
                       "made yet",
                       MetricType::Gauge);
  family.Add({{"state", "made"}}, static_cast<double>(compiler.kernels_made));
  family.Add({{"state", "read"}}, static_cast<double>(compiler.kernels_read));
  family.Add({{"state", "failed"}}, static_cast<double>(compiler.kernels_failed));
  family.Add({{"state", "waiting"}}, static_cast<double>(compiler.kernels_waiting));
  return family.Take();
}

MetricFamily EndedConnections(const CountsByReason& counts) {
  FamilyBuilder family("hearth_grpc_connections_ended_total",
                       "Connections of gRPC that were ended for what the client sent, by reason", MetricType::Counter);
  for (const auto& [reason, count] : counts) family.Add({{"reason", reason}}, static_cast<double>(count));
  return family.Take();
}

}  // namespace

std::vector<MetricFamily> MetricsCollector::Collect() const {
  const std::vector<ModelSample> samples = models_();
  constexpr MetricType kCounter = MetricType::Counter;
  constexpr MetricType kGauge = MetricType::Gauge;
  const auto [memory_total, memory_used] = MachineMemory();

  std::vector<MetricFamily> families;
  const auto add = [&](const char* name, const char* help, MetricType type, auto value) {
    families.push_back(PerModel(samples, Which::kKnown, name, help, type, value));
  };
  const auto add_loaded = [&](const char* name, const char* help, MetricType type, auto value) {
    families.push_back(PerModel(samples, Which::kLoaded, name, help, type, value));
  };
  add("nv_inference_request_success", "Number of successful inference requests, all batch sizes", kCounter,
      [](const ModelSample& s) { return s.statistics.success.count; });
  families.push_back(FamilyByReason(samples, "nv_inference_request_failure",
                                    "Number of failed inference requests, by reason", FailureReasonName,
                                    &StatisticsSnapshot::failures));
  add("nv_inference_count", "Number of inferences performed (a batch of n counts n)", kCounter,
      [](const ModelSample& s) { return s.statistics.inference_count; });
  add("nv_inference_exec_count", "Number of model executions performed", kCounter,
      [](const ModelSample& s) { return s.statistics.execution_count; });
  add("nv_inference_request_duration_us", "Cumulative inference request duration in microseconds", kCounter,
      [](const ModelSample& s) { return s.statistics.success.ns / 1000; });
  add("nv_inference_queue_duration_us", "Cumulative inference queuing duration in microseconds", kCounter,
      [](const ModelSample& s) { return s.statistics.queue.ns / 1000; });
  add("nv_inference_compute_input_duration_us", "Cumulative compute input duration in microseconds", kCounter,
      [](const ModelSample& s) { return s.statistics.compute_input.ns / 1000; });
  add("nv_inference_compute_infer_duration_us", "Cumulative compute inference duration in microseconds", kCounter,
      [](const ModelSample& s) { return s.statistics.compute_infer.ns / 1000; });
  add("nv_inference_compute_output_duration_us", "Cumulative inference compute output duration in microseconds",
      kCounter, [](const ModelSample& s) { return s.statistics.compute_output.ns / 1000; });
  add("nv_inference_pending_request_count", "Instantaneous number of pending requests awaiting execution", kGauge,
      [](const ModelSample& s) { return s.statistics.pending; });
  add("nv_cache_num_hits_per_model", "Number of cache hits per model", kCounter,
      [](const ModelSample& s) { return s.statistics.cache_hit.count; });
  add("nv_cache_num_misses_per_model", "Number of cache misses per model", kCounter,
      [](const ModelSample& s) { return s.statistics.cache_miss.count; });
  add("nv_cache_hit_duration_per_model", "Total cache hit duration per model, in microseconds", kCounter,
      [](const ModelSample& s) { return s.statistics.cache_hit.ns / 1000; });
  add("nv_cache_miss_duration_per_model", "Total cache miss duration per model, in microseconds", kCounter,
      [](const ModelSample& s) { return s.statistics.cache_miss.ns / 1000; });
  add("nv_model_load_duration_secs", "Model load time in seconds", kGauge,
      [](const ModelSample& s) { return s.statistics.load_seconds; });
  add("hearth_warm_up_seconds", "Time of the latest load that went into warming up", kGauge,
      [](const ModelSample& s) { return s.statistics.warm_up_seconds; });
  families.push_back(HistogramFamily(samples, "hearth_request_duration_seconds",
                                     "Time from a request's last byte to its answer, of requests that were answered",
                                     &StatisticsSnapshot::total_times));
  families.push_back(HistogramFamily(samples, "hearth_queue_duration_seconds",
                                     "Time that requests waited for a thread, of those that were answered",
                                     &StatisticsSnapshot::queue_times));
  families.push_back(HistogramFamily(samples, "hearth_compute_duration_seconds",
                                     "Time that the model took for requests that were answered",
                                     &StatisticsSnapshot::infer_times));
  families.push_back(BatchSizeFamily(samples));
  families.push_back(FamilyByReason(samples, "hearth_batch_failures_total",
                                    "Batches whose requests were run one by one after all, by reason", BatchFailureName,
                                    &StatisticsSnapshot::batch_failures));
  families.push_back(FamilyByReason(samples, "hearth_shadow_requests_total",
                                    "Live requests that the version answered beside the one in service, by the result",
                                    ShadowResultName, &StatisticsSnapshot::shadow_requests, "result"));
  add("hearth_batch_padding_rows_total", "Rows that batches were padded with to have an allowed size", kCounter,
      [](const ModelSample& s) { return s.statistics.padding_rows; });
  add("hearth_in_flight_requests", "Requests that were admitted and are not answered yet", kGauge,
      [](const ModelSample& s) { return s.statistics.in_flight; });
  add_loaded("hearth_model_weight_bytes", "Bytes that the model's weights occupy", kGauge,
             [](const ModelSample& s) { return s.weight_bytes; });
  add_loaded("hearth_model_code_bytes", "Bytes that the model holds beside its weights and plans", kGauge,
             [](const ModelSample& s) { return s.code_bytes; });
  families.push_back(PerModel(samples, Which::kListed, "hearth_model_ready",
                              "Whether the version takes requests, of all that are to be served", kGauge,
                              [](const ModelSample& s) { return s.ready ? 1 : 0; }));
  families.push_back(PerModel(samples, Which::kListed, "hearth_model_load_failures_total",
                              "Loads of the version that ended with an error, first ones and reloads", kCounter,
                              [](const ModelSample& s) { return s.statistics.load_failures; }));
  families.push_back(ByTier(
      samples,
      {"hearth_plans", "Plans that answer calls in place of the interpreter's baseline, by tier", MetricType::Gauge}, 1,
      &ModelSample::plans));
  families.push_back(ByTier(
      samples,
      {"hearth_tier_calls_total",
       "Calls of methods by the tier that began them, estimated beyond the first few of a spec", MetricType::Counter},
      0, &ModelSample::calls));
  add_loaded("hearth_plan_bytes", "Memory that the plans take beside the model's weights", kGauge,
             [](const ModelSample& s) { return s.plan_bytes; });
  add_loaded("hearth_weight_copy_bytes",
             "Memory that weights take as plans have them packed or folded, beside the plans", kGauge,
             [](const ModelSample& s) { return s.weight_copy_bytes; });
  add_loaded("hearth_recorded_bytes", "GPU memory that recorded runs of plans hold", kGauge,
             [](const ModelSample& s) { return s.recorded_bytes; });
  add_loaded("hearth_plan_bailouts_total", "Calls that a plan could not finish and the baseline did", kCounter,
             [](const ModelSample& s) { return s.plan_bailouts; });
  add_loaded("hearth_plan_exceptions_total", "Of those, calls that raised in the plan and not in the baseline: defects",
             kCounter, [](const ModelSample& s) { return s.plan_exceptions; });
  add_loaded("hearth_guard_failures_total", "Of those, for something that the plan speculates on or checks", kCounter,
             [](const ModelSample& s) { return s.guard_failures; });
  add_loaded("hearth_argument_specs", "Argument specs that calls came with, with a plan or not yet", kGauge,
             [](const ModelSample& s) { return s.argument_specs; });
  const CompilerSample compiler = compiler_();
  families.push_back(Single("hearth_compiler_queued", "Plans waiting to be compiled", double(compiler.queued)));
  families.push_back(Single("hearth_compiler_running", "Plans being compiled", double(compiler.running)));
  families.push_back(CompilerOutcomes(compiler));
  const auto count = [&](const char* name, const char* help, double value) {
    FamilyBuilder family(name, help, kCounter);
    family.Add({}, value);
    families.push_back(family.Take());
  };
  count("hearth_compiler_processor_seconds_total", "Processor time that compiling took", compiler.processor_seconds);
  count("hearth_shadow_runs_total", "Answers of plans that were checked against the baseline's",
        double(compiler.shadow_runs));
  count("hearth_shadow_differences_total", "Answers of plans that were not the baseline's",
        double(compiler.shadow_differences));
  families.push_back(FusedKernels(compiler));
  families.push_back(Single("nv_cpu_utilization", "CPU utilization rate [0.0 - 1.0]", ProcessorUse()));
  families.push_back(Single("nv_cpu_memory_total_bytes", "CPU total memory (RAM), in bytes", memory_total));
  families.push_back(Single("nv_cpu_memory_used_bytes", "CPU used memory (RAM), in bytes", memory_used));
  families.push_back(
      Single("hearth_process_resident_bytes", "Resident memory of the server", static_cast<double>(ResidentBytes())));
  families.push_back(Single("hearth_kept_memory_bytes", "Memory of freed tensors that is kept for others",
                            static_cast<double>(KeptMemoryBytes())));
  if (ended_connections_ != nullptr) families.push_back(EndedConnections(ended_connections_()));
  if (memory_) AddMemory(memory_(), families);
  if (mirrors_) AddMirrors(mirrors_(), families);
  if (sequences_) {
    families.push_back(Single("hearth_sequences", "Sequences of requests that are under way, of all models",
                              static_cast<double>(sequences_())));
  }
  if (traces_ != nullptr) families.push_back(Traces(traces_()));
  if (gpus_ != nullptr) AddGpus(gpus_(), families);
  return families;
}

std::string MetricsText(const prometheus::Collectable& collector) {
  return prometheus::TextSerializer().Serialize(collector.Collect());
}

}  // namespace hearth::server
