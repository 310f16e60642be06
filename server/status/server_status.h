// What the status page, its JSON and `hearth top` tell: facts that the server's parts have anyway, and the traffic of
// the last minutes, which a thread of this one's own samples. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/runtime.h"
#include "proto/status.pb.h"
#include "server/api/readiness.h"
#include "server/repository/repository.h"
#include "server/telemetry/gpu_reader.h"
#include "server/telemetry/metrics.h"
#include "server/telemetry/recent_errors.h"
#include "server/telemetry/traffic_history.h"

namespace hearth::server {

class ServerStatus {
 public:
  // Plans of a version that are told with their graphs, the most called first, and bytes of all these graphs and their
  // kernels.
  static constexpr int kMostPlans = 64;
  static constexpr size_t kMostGraphBytes = 1 << 20;

  // All outlive this.
  struct Sources {
    const Repository& repository;
    const Readiness& readiness;
    const Runtime& runtime;
    const RecentErrors& errors;
    std::function<std::vector<ModelSample>()> samples;
    std::function<CompilerSample()> compiler;
    std::string name;
    std::string device;
    std::function<GpuReading()> gpus = nullptr;  // null where models run on none
  };

  explicit ServerStatus(Sources sources);
  ~ServerStatus();

  v1::ServerStatusResponse Describe() const;
  // With its plans. kNotFound for a version that is not known.
  absl::StatusOr<v1::ModelStatusResponse> DescribeModel(const std::string& model, const std::string& version) const;

 private:
  void SampleTraffic();
  v1::ModelStatus DescribeVersion(const VersionStatus& version, const ModelSample& sample, bool compiling) const;

  const Sources sources_;
  const std::chrono::steady_clock::time_point start_;
  TrafficHistory history_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread thread_;
};

// Leaves the plans that are called most, with their graphs and kernels as far as there is room for them.
void KeepWithinBounds(v1::ListPlansResponse& plans);

}  // namespace hearth::server
