// The traffic of the last minutes, of each version of a model and of all together: a bounded number of intervals, each
// with its counts and a histogram of latencies. Made of the differences of the models' own statistics, so requests pay
// nothing for it. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "server/telemetry/latency_histogram.h"
#include "server/telemetry/metrics.h"
#include "server/telemetry/model_statistics.h"

namespace hearth::server {

// Of one interval.
struct TrafficPoint {
  std::chrono::duration<double> length{0};
  uint64_t requests = 0;  // answered
  uint64_t failures = 0;
  Duration input, queue, infer, output;  // of those that were answered
  LatencyHistogram latencies;
  int64_t pending = 0;  // at its end, as in_flight
  int64_t in_flight = 0;

  // Counts of both; at the end, what `later` says.
  void Append(const TrafficPoint& later);
};

struct ProcessPoint {
  uint64_t resident_bytes = 0;
  double processors = 0;  // that the process used on average
};

class TrafficHistory {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  static constexpr std::chrono::seconds kInterval{5};  // between two calls of Add
  static constexpr size_t kMostPoints = 60;
  // Others are not counted.
  static constexpr size_t kMostVersions = 256;

  explicit TrafficHistory(TimePoint start) : last_time_(start) {}

  // Ends an interval. `processor_seconds` are those of the process since it began.
  void Add(TimePoint now, const std::vector<ModelSample>& samples, uint64_t resident_bytes, double processor_seconds);

  // The latest is the last. Empty for a version that is not known.
  std::vector<TrafficPoint> PointsOf(const std::string& model, const std::string& version) const;
  std::vector<TrafficPoint> PointsOfAll() const;
  std::vector<ProcessPoint> ProcessPoints() const;

 private:
  struct Series {
    StatisticsSnapshot last;
    std::deque<TrafficPoint> points;
  };

  mutable std::mutex mutex_;
  TimePoint last_time_;
  double last_processor_seconds_ = 0;
  std::map<std::pair<std::string, std::string>, Series> series_;
  std::deque<TrafficPoint> all_;
  std::deque<ProcessPoint> process_;
};

}  // namespace hearth::server
