#include "server/status/server_status.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/support/cpu_allocator.h"
#include "jit/support/memory_account.h"
#include "jit/support/version.h"
#include "server/api/plan_messages.h"
#include "server/telemetry/process_usage.h"

namespace hearth::server {
namespace {

using VersionKey = std::pair<std::string, std::string>;

void SetLatency(const LatencyHistogram& latencies, v1::Latency& out) {
  out.set_p50(latencies.Percentile(0.5));
  out.set_p90(latencies.Percentile(0.9));
  out.set_p99(latencies.Percentile(0.99));
}

double MeanSeconds(const Duration& duration) {
  return duration.count == 0 ? 0 : static_cast<double>(duration.ns) * 1e-9 / static_cast<double>(duration.count);
}

void SetTraffic(const std::vector<TrafficPoint>& points, v1::Traffic& out) {
  out.set_interval_seconds(std::chrono::duration<double>(TrafficHistory::kInterval).count());
  TrafficPoint total;
  for (const TrafficPoint& point : points) {
    v1::TrafficPoint& told = *out.add_points();
    told.set_requests(point.requests);
    told.set_failures(point.failures);
    if (point.requests > 0) SetLatency(point.latencies, *told.mutable_latency());
    told.set_pending(point.pending);
    told.set_in_flight(point.in_flight);
    total.Append(point);
  }
  const double seconds = total.length.count();
  out.set_seconds(seconds);
  if (seconds > 0) {
    out.set_requests_per_second(static_cast<double>(total.requests) / seconds);
    out.set_failures_per_second(static_cast<double>(total.failures) / seconds);
  }
  if (total.requests == 0) return;
  SetLatency(total.latencies, *out.mutable_latency());
  out.set_mean_input_seconds(MeanSeconds(total.input));
  out.set_mean_queue_seconds(MeanSeconds(total.queue));
  out.set_mean_infer_seconds(MeanSeconds(total.infer));
  out.set_mean_output_seconds(MeanSeconds(total.output));
  for (size_t bucket = 0; bucket < LatencyHistogram::kBuckets; ++bucket) {
    if (total.latencies.count(bucket) == 0) continue;
    v1::LatencyBucket& told = *out.add_distribution();
    told.set_from_seconds(LatencyHistogram::From(bucket));
    told.set_to_seconds(LatencyHistogram::To(bucket));
    told.set_requests(total.latencies.count(bucket));
  }
}

void SetCompiler(const CompilerSample& compiler, v1::CompilerStatus& out) {
  out.set_queued(compiler.queued);
  out.set_running(compiler.running);
  out.set_done(compiler.done);
  out.set_failed(compiler.failed);
  out.set_cancelled(compiler.cancelled);
  out.set_dropped(compiler.dropped);
  out.set_processor_seconds(compiler.processor_seconds);
  out.set_shadow_runs(compiler.shadow_runs);
  out.set_shadow_differences(compiler.shadow_differences);
  out.set_kernels_made(compiler.kernels_made);
  out.set_kernels_read(compiler.kernels_read);
  out.set_kernels_failed(compiler.kernels_failed);
  out.set_kernels_waiting(compiler.kernels_waiting);
}

void SetMemory(const MemoryAccount* requests, v1::MemoryStatus& out) {
  out.set_resident_bytes(ResidentBytes());
  out.set_kept_bytes(KeptMemoryBytes());
  if (requests == nullptr) return;
  out.set_request_bytes(static_cast<uint64_t>(std::max<int64_t>(requests->held(), 0)));
  out.set_request_limit_bytes(static_cast<uint64_t>(requests->limit()));
}

void SetGpus(const GpuReading& reading, v1::ServerStatusResponse& out) {
  out.set_gpus_lost(reading.lost);
  for (const GpuSample& gpu : reading.gpus) {
    v1::GpuStatus& told = *out.add_gpus();
    told.set_uuid(gpu.uuid);
    told.set_name(gpu.name);
    if (gpu.utilization) told.set_utilization(*gpu.utilization);
    if (gpu.memory_total) told.set_memory_total_bytes(static_cast<uint64_t>(*gpu.memory_total));
    if (gpu.memory_used) told.set_memory_used_bytes(static_cast<uint64_t>(*gpu.memory_used));
    if (gpu.power_usage) told.set_power_watts(*gpu.power_usage);
    if (gpu.power_limit) told.set_power_limit_watts(*gpu.power_limit);
    if (gpu.temperature) told.set_temperature_celsius(*gpu.temperature);
  }
}

v1::RecentError DescribeError(const RecentError& error) {
  v1::RecentError out;
  out.set_time_ms(std::chrono::duration_cast<std::chrono::milliseconds>(error.time.time_since_epoch()).count());
  out.set_model(error.model);
  out.set_version(error.version);
  out.set_code(absl::StatusCodeToString(error.code));
  out.set_message(error.message);
  out.set_count(error.count);
  return out;
}

uint64_t FailuresOf(const StatisticsSnapshot& statistics) {
  uint64_t failures = 0;
  for (const uint64_t count : statistics.failures) failures += count;
  return failures;
}

std::map<VersionKey, ModelSample> ByVersion(std::vector<ModelSample> samples) {
  std::map<VersionKey, ModelSample> by_version;
  for (ModelSample& sample : samples) {
    VersionKey key(sample.model, sample.version);
    by_version.emplace(std::move(key), std::move(sample));
  }
  return by_version;
}

}  // namespace

void KeepWithinBounds(v1::ListPlansResponse& plans) {
  auto& list = *plans.mutable_plans();
  std::stable_sort(list.pointer_begin(), list.pointer_end(),
                   [](const v1::Plan* a, const v1::Plan* b) { return a->calls() > b->calls(); });
  if (list.size() > ServerStatus::kMostPlans)
    list.DeleteSubrange(ServerStatus::kMostPlans, list.size() - ServerStatus::kMostPlans);
  size_t bytes = 0;
  for (v1::Plan& plan : list) {
    bytes += plan.graph().size();
    for (const v1::Plan::Kernel& kernel : plan.kernels()) bytes += kernel.ByteSizeLong();
    if (bytes <= ServerStatus::kMostGraphBytes) continue;
    plan.clear_graph();
    plan.clear_kernels();
  }
}

ServerStatus::ServerStatus(Sources sources)
    : sources_(std::move(sources)),
      start_(std::chrono::steady_clock::now()),
      history_(start_),
      thread_([this] { SampleTraffic(); }) {}

ServerStatus::~ServerStatus() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void ServerStatus::SampleTraffic() {
  for (auto next = start_ + TrafficHistory::kInterval;; next += TrafficHistory::kInterval) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_until(lock, next, [this] { return stop_; })) return;
    }
    history_.Add(std::chrono::steady_clock::now(), sources_.samples(), ResidentBytes(), ProcessorSeconds());
  }
}

v1::ModelStatus ServerStatus::DescribeVersion(const VersionStatus& version, const ModelSample& sample,
                                              bool compiling) const {
  v1::ModelStatus out;
  out.set_name(version.name);
  out.set_version(version.version);
  out.set_state(ModelStateName(version.state));
  out.set_reason(version.reason);
  SetTraffic(history_.PointsOf(version.name, version.version), *out.mutable_traffic());
  const StatisticsSnapshot& statistics = sample.statistics;
  out.set_pending(statistics.pending);
  out.set_in_flight(statistics.in_flight);
  out.set_requests(statistics.success.count);
  out.set_failures(FailuresOf(statistics));
  out.set_inferences(statistics.inference_count);
  out.set_executions(statistics.execution_count);
  out.set_load_seconds(statistics.load_seconds);
  if (!sample.loaded) return out;
  if (version.serving != nullptr) out.set_batching(version.serving->call_interface->batching());
  out.mutable_calls_by_tier()->Assign(sample.calls.begin(), sample.calls.end());
  out.mutable_plans_by_tier()->Assign(sample.plans.begin(), sample.plans.end());
  out.set_argument_specs(sample.argument_specs);
  out.set_weight_bytes(sample.weight_bytes);
  out.set_plan_bytes(sample.plan_bytes);
  out.set_weight_copy_bytes(sample.weight_copy_bytes);
  out.set_recorded_bytes(sample.recorded_bytes);
  out.set_bailouts(sample.plan_bailouts);
  out.set_guard_failures(sample.guard_failures);
  out.set_plan_exceptions(sample.plan_exceptions);
  if (!compiling || version.serving == nullptr) return out;
  for (CompilationInfo& compilation : version.serving->model->compilations()) {
    *out.add_compiling() = DescribeCompilation(std::move(compilation));
  }
  return out;
}

v1::ServerStatusResponse ServerStatus::Describe() const {
  v1::ServerStatusResponse out;
  out.set_name(sources_.name);
  out.set_version(kVersion);
  out.set_ready(sources_.readiness.Ready(sources_.repository));
  out.set_draining(sources_.readiness.draining);
  out.set_device(sources_.device);
  out.set_uptime_seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count());
  SetTraffic(history_.PointsOfAll(), *out.mutable_traffic());
  const CompilerSample compiler = sources_.compiler();
  SetCompiler(compiler, *out.mutable_compiler());
  SetMemory(sources_.runtime.memory_of_all(), *out.mutable_memory());
  if (sources_.gpus != nullptr) SetGpus(sources_.gpus(), out);
  const auto samples = ByVersion(sources_.samples());
  for (const VersionStatus& version : sources_.repository.Versions()) {
    const auto sample = samples.find({version.name, version.version});
    if (sample == samples.end()) continue;  // it came in between
    *out.add_models() = DescribeVersion(version, sample->second, compiler.running > 0);
  }
  for (const RecentError& error : sources_.errors.List(RecentErrors::Kind::kModel)) {
    *out.add_model_errors() = DescribeError(error);
  }
  for (const RecentError& error : sources_.errors.List(RecentErrors::Kind::kRefused)) {
    *out.add_refused_requests() = DescribeError(error);
  }
  for (const ProcessPoint& point : history_.ProcessPoints()) {
    v1::ProcessPoint& told = *out.add_process();
    told.set_resident_bytes(point.resident_bytes);
    told.set_processors(point.processors);
  }
  return out;
}

absl::StatusOr<v1::ModelStatusResponse> ServerStatus::DescribeModel(const std::string& model,
                                                                    const std::string& version) const {
  const auto versions = sources_.repository.Versions();
  const auto known = std::ranges::find_if(
      versions, [&](const VersionStatus& each) { return each.name == model && each.version == version; });
  const auto samples = ByVersion(sources_.samples());
  const auto sample = samples.find({model, version});
  if (known == versions.end() || sample == samples.end()) {
    return absl::NotFoundError(absl::StrCat("model '", model, "' has no version '", version, "'"));
  }
  v1::ModelStatusResponse out;
  *out.mutable_model() = DescribeVersion(*known, sample->second, /*compiling=*/true);
  if (known->serving == nullptr) return out;
  *out.mutable_plans() = DescribePlans(*known->serving, /*graphs=*/true);
  KeepWithinBounds(*out.mutable_plans());
  return out;
}

}  // namespace hearth::server
