// What one version of a model has answered since it was first loaded, and how its loads went: the numbers behind
// ModelStatistics and /metrics.
// A reload keeps them, so that counters never go back. Thread-safe; a snapshot is consistent in itself.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/telemetry/latency_histogram.h"
#include "server/telemetry/metric_settings.h"

namespace hearth::server {

// Why a request was not answered, in the terms of Triton's metric nv_inference_request_failure.
enum class FailureReason {
  kRejected,  // a queue was full, or the deadline had passed before the run began
  kCanceled,  // the client went away or its deadline passed during the run
  kBackend,   // the model raised
  kOther,     // the request was wrong
};
inline constexpr int kFailureReasons = 4;
const char* FailureReasonName(FailureReason reason);

// Why the requests of a batch were run one by one after all.
enum class BatchFailure {
  kRaised,  // the run raised
  kMemory,  // it wanted more memory than it may have
  kRows,    // its answer had not the batch's rows
  kTime,    // it took longer than a run may
};
inline constexpr int kBatchFailures = 4;
const char* BatchFailureName(BatchFailure failure);

// What became of a live request that a version answered beside the one in service, before it served itself.
enum class ShadowResult {
  kSame,       // as far as answers may differ
  kDifferent,  // beyond that
  kFailed,     // it was not answered
};
inline constexpr int kShadowResults = 3;
const char* ShadowResultName(ShadowResult result);

// Where the time of one answered request went.
struct RequestTimes {
  std::chrono::nanoseconds total{0};           // from the request's last byte to the answer's first
  std::chrono::nanoseconds queue{0};           // waiting for a thread
  std::chrono::nanoseconds compute_input{0};   // message to tensors
  std::chrono::nanoseconds compute_infer{0};   // the model
  std::chrono::nanoseconds compute_output{0};  // tensors to message
};

// A number of events and their time together.
struct Duration {
  uint64_t count = 0;
  uint64_t ns = 0;

  void Add(std::chrono::nanoseconds time) {
    ++count;
    ns += static_cast<uint64_t>(time.count());
  }
};

// Upper bounds, in seconds, of the buckets of the histograms of time where a model's configuration says nothing else;
// the last bucket is unbounded.
inline constexpr std::array<double, 15> kLatencyBuckets = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                           0.25,   0.5,   1,      2.5,   5,    10,    30};

// Times by buckets.
struct TimeHistogram {
  std::vector<double> bounds{kLatencyBuckets.begin(), kLatencyBuckets.end()};  // in seconds
  std::vector<uint64_t> buckets = std::vector<uint64_t>(bounds.size() + 1);
  Duration all;

  void Add(std::chrono::nanoseconds time);
  // Begins anew if it has other ones: what was counted cannot be shared out to them. None: those of above.
  void SetBounds(std::vector<double> wanted);
};

// Runs with up to so many batch elements are counted by their size. Clients choose sizes, so larger ones share a size:
// the power of two below.
inline constexpr uint64_t kLargestOwnBatch = 256;

struct StatisticsSnapshot {
  struct Batch {
    Duration compute_input, compute_infer, compute_output;
  };

  Duration success, failure, queue, compute_input, compute_infer, compute_output;
  Duration cache_hit, cache_miss;  // of looking for answers in the cache, and of keeping those that were not there
  std::array<uint64_t, kFailureReasons> failures{};
  uint64_t inference_count = 0;                         // batch elements answered
  uint64_t execution_count = 0;                         // runs that answered
  uint64_t executed_rows = 0;                           // their batch elements
  uint64_t last_inference_ms = 0;                       // since the epoch
  int64_t pending = 0;                                  // requests that wait for a thread
  int64_t in_flight = 0;                                // requests that wait or run
  TimeHistogram total_times, queue_times, infer_times;  // of the answered requests
  LatencyHistogram latencies;                           // of their whole times, finer
  std::map<uint64_t, Batch> batches;                    // of runs, by kLargestOwnBatch
  std::map<std::string, std::string> labels;            // MetricSettings
  std::vector<double> batch_size_bounds;                // the same
  std::array<uint64_t, kBatchFailures> batch_failures{};
  std::array<uint64_t, kShadowResults> shadow_requests{};
  uint64_t padding_rows = 0;   // that runs had beside their batch elements
  double load_seconds = 0;     // of the latest load
  double warm_up_seconds = 0;  // of that, to warm up
  uint64_t load_failures = 0;  // loads that ended with an error
};

class ModelStatistics {
 public:
  // Admits a request unless `max_pending` wait already, and says whether it did. For each request that was admitted
  // exactly one of Succeeded and Failed follows.
  bool Admit(int64_t max_pending);
  // Of one that was admitted and then refused after all: as if it had not been.
  void TurnedAway();
  // Its run began.
  void Began();
  // `executed`: the batch elements of the run that answered it, if the run is to be counted with this request, or of
  // several runs that answered parts of it.
  void Succeeded(const RequestTimes& times, uint64_t batch_size, std::span<const uint64_t> executed);
  void Succeeded(const RequestTimes& times, uint64_t batch_size, std::optional<uint64_t> executed) {
    Succeeded(times, batch_size, executed ? std::span<const uint64_t>(&*executed, 1) : std::span<const uint64_t>());
  }
  // `began` says whether Began was called.
  void Failed(FailureReason reason, std::chrono::nanoseconds total, bool began);
  // A request that was turned away before it was admitted.
  void Refused(FailureReason reason, std::chrono::nanoseconds total);
  void BatchFailed(BatchFailure why);
  void Shadowed(ShadowResult result);
  // A run that answered had so many rows more than its requests.
  void Padded(uint64_t rows);
  // Of a request that the cache is asked for.
  void CacheHit(std::chrono::nanoseconds time);
  void CacheMiss(std::chrono::nanoseconds time);
  void Loaded(std::chrono::nanoseconds time, std::chrono::nanoseconds warm_up);
  void LoadFailed();
  // Of the version that serves from now on.
  void SetMetrics(MetricSettings settings);

  StatisticsSnapshot snapshot() const;

 private:
  mutable std::mutex mutex_;
  StatisticsSnapshot now_;
};

}  // namespace hearth::server
