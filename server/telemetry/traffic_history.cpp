#include "server/telemetry/traffic_history.h"

#include <set>

namespace hearth::server {
namespace {

Duration Since(const Duration& now, const Duration& before) {
  return {.count = now.count - before.count, .ns = now.ns - before.ns};
}

void Append(Duration& sum, const Duration& more) {
  sum.count += more.count;
  sum.ns += more.ns;
}

TrafficPoint PointBetween(const StatisticsSnapshot& before, const StatisticsSnapshot& now,
                          std::chrono::duration<double> length) {
  return {.length = length,
          .requests = now.success.count - before.success.count,
          .failures = now.failure.count - before.failure.count,
          .input = Since(now.compute_input, before.compute_input),
          .queue = Since(now.queue, before.queue),
          .infer = Since(now.compute_infer, before.compute_infer),
          .output = Since(now.compute_output, before.compute_output),
          .latencies = now.latencies.Since(before.latencies),
          .pending = now.pending,
          .in_flight = now.in_flight};
}

template <typename Point>
void Push(std::deque<Point>& points, Point point) {
  points.push_back(std::move(point));
  if (points.size() > TrafficHistory::kMostPoints) points.pop_front();
}

// Adds what happened beside it in the same interval.
void Merge(TrafficPoint& point, const TrafficPoint& other) {
  const auto length = point.length;
  const int64_t pending = point.pending + other.pending, in_flight = point.in_flight + other.in_flight;
  point.Append(other);
  point.length = length;
  point.pending = pending;
  point.in_flight = in_flight;
}

}  // namespace

void TrafficPoint::Append(const TrafficPoint& later) {
  length += later.length;
  requests += later.requests;
  failures += later.failures;
  server::Append(input, later.input);
  server::Append(queue, later.queue);
  server::Append(infer, later.infer);
  server::Append(output, later.output);
  latencies.Add(later.latencies);
  pending = later.pending;
  in_flight = later.in_flight;
}

void TrafficHistory::Add(TimePoint now, const std::vector<ModelSample>& samples, uint64_t resident_bytes,
                         double processor_seconds) {
  std::lock_guard lock(mutex_);
  const std::chrono::duration<double> length = now - last_time_;
  TrafficPoint all{.length = length};
  std::set<std::pair<std::string, std::string>> known;
  for (const ModelSample& sample : samples) {
    if (sample.version.empty()) continue;
    const std::pair key(sample.model, sample.version);
    if (!series_.contains(key) && series_.size() >= kMostVersions) continue;
    known.insert(key);
    Series& series = series_[key];
    const TrafficPoint point = PointBetween(series.last, sample.statistics, length);
    Merge(all, point);
    Push(series.points, point);
    series.last = sample.statistics;
  }
  std::erase_if(series_, [&](const auto& item) { return !known.contains(item.first); });
  Push(all_, all);
  const double used = processor_seconds - last_processor_seconds_;
  Push(process_, {.resident_bytes = resident_bytes, .processors = length.count() > 0 ? used / length.count() : 0});
  last_time_ = now;
  last_processor_seconds_ = processor_seconds;
}

std::vector<TrafficPoint> TrafficHistory::PointsOf(const std::string& model, const std::string& version) const {
  std::lock_guard lock(mutex_);
  const auto found = series_.find({model, version});
  if (found == series_.end()) return {};
  return {found->second.points.begin(), found->second.points.end()};
}

std::vector<TrafficPoint> TrafficHistory::PointsOfAll() const {
  std::lock_guard lock(mutex_);
  return {all_.begin(), all_.end()};
}

std::vector<ProcessPoint> TrafficHistory::ProcessPoints() const {
  std::lock_guard lock(mutex_);
  return {process_.begin(), process_.end()};
}

}  // namespace hearth::server
