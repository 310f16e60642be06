// Traces of requests for a collector that speaks OpenTelemetry's protocol over gRPC. A request that belongs to a trace
// which is recorded is told to that; of the others one in `rate` begins a trace. Spans are sent by a thread of this
// one's own; where that does not keep up, or the collector does not take them, they are dropped and counted, and no
// request waits. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/telemetry/model_statistics.h"
#include "server/telemetry/trace_context.h"

namespace hearth::server {

// A request that has ended.
struct RequestTrace {
  TraceContext context;
  const char* operation = "";  // "inference.GRPCInferenceService/ModelInfer"; lives as long as the process
  std::string model;
  std::string version;
  std::string id;
  std::chrono::system_clock::time_point end;
  RequestTimes times;
  bool began = false;  // the model was called: times of the queue, the model and the answer are known
  unsigned tier = 0;   // that the call began in
  int64_t rows = 1;    // batch elements of the run that answered it
  uint64_t request_bytes = 0;
  uint64_t response_bytes = 0;
  absl::Status status;
};

// What became of traces.
struct TraceCounts {
  uint64_t exported = 0;
  uint64_t dropped = 0;  // the queue was full
  uint64_t failed = 0;   // the collector did not take them
};

class TraceExporter;

class Tracer {
 public:
  // Requests that wait to be sent, and that are sent in one message.
  static constexpr size_t kMostWaiting = 2048;
  static constexpr size_t kMostAtOnce = 256;

  struct Options {
    std::string endpoint;  // "HOST:PORT", perhaps behind "http://", or "https://" for TLS
    int64_t rate = 1000;   // 0: none begins a trace
    std::string service_name;
  };
  // kInvalidArgument for an endpoint that is none.
  static absl::StatusOr<std::unique_ptr<Tracer>> Create(Options options);
  // Sends what waits, for a moment at most.
  ~Tracer();

  // The trace that a request belongs to; `caller` is what it said, if anything. Nothing: it is not recorded.
  std::optional<TraceContext> Begin(const std::optional<TraceContext>& caller);
  // A request that Begin gave a trace has ended.
  void End(RequestTrace trace);

  // Triton's settings. `count` is how many traces may begin from now on; below 0: any number.
  struct Settings {
    bool on = true;
    int64_t rate = 1000;
    int64_t count = -1;
  };
  Settings settings() const;
  void set_settings(const Settings& settings);

  TraceCounts counts() const;

 private:
  Tracer(std::unique_ptr<TraceExporter> exporter, int64_t rate);
  void Run();

  const std::unique_ptr<TraceExporter> exporter_;
  std::atomic<bool> on_{true};
  std::atomic<int64_t> rate_;
  std::atomic<int64_t> left_{-1};  // traces that may begin; below 0: any number
  std::atomic<uint64_t> asked_{0};

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<RequestTrace> waiting_;
  TraceCounts counts_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace hearth::server
