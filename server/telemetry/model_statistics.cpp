#include "server/telemetry/model_statistics.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace hearth::server {
namespace {

uint64_t CountedSize(uint64_t batch_size) {
  return batch_size <= kLargestOwnBatch ? batch_size : std::bit_floor(batch_size);
}

}  // namespace

void TimeHistogram::Add(std::chrono::nanoseconds time) {
  const double seconds = std::chrono::duration<double>(time).count();
  ++buckets[std::ranges::lower_bound(bounds, seconds) - bounds.begin()];
  all.Add(time);
}

void TimeHistogram::SetBounds(std::vector<double> wanted) {
  if (wanted.empty()) wanted.assign(kLatencyBuckets.begin(), kLatencyBuckets.end());
  if (wanted == bounds) return;
  bounds = std::move(wanted);
  buckets.assign(bounds.size() + 1, 0);
  all = {};
}

const char* FailureReasonName(FailureReason reason) {
  switch (reason) {
    case FailureReason::kRejected:
      return "REJECTED";
    case FailureReason::kCanceled:
      return "CANCELED";
    case FailureReason::kBackend:
      return "BACKEND";
    case FailureReason::kOther:
      return "OTHER";
  }
  return "OTHER";
}

const char* BatchFailureName(BatchFailure failure) {
  switch (failure) {
    case BatchFailure::kRaised:
      return "RAISED";
    case BatchFailure::kMemory:
      return "MEMORY";
    case BatchFailure::kRows:
      return "ROWS";
    case BatchFailure::kTime:
      return "TIME";
  }
  return "RAISED";
}

const char* ShadowResultName(ShadowResult result) {
  switch (result) {
    case ShadowResult::kSame:
      return "SAME";
    case ShadowResult::kDifferent:
      return "DIFFERENT";
    case ShadowResult::kFailed:
      return "FAILED";
  }
  return "FAILED";
}

bool ModelStatistics::Admit(int64_t max_pending) {
  std::lock_guard lock(mutex_);
  if (now_.pending >= max_pending) return false;
  ++now_.pending;
  ++now_.in_flight;
  return true;
}

void ModelStatistics::TurnedAway() {
  std::lock_guard lock(mutex_);
  --now_.pending;
  --now_.in_flight;
}

void ModelStatistics::Began() {
  std::lock_guard lock(mutex_);
  --now_.pending;
}

void ModelStatistics::Succeeded(const RequestTimes& times, uint64_t batch_size, std::span<const uint64_t> executed) {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();

  std::lock_guard lock(mutex_);
  --now_.in_flight;
  now_.success.Add(times.total);
  now_.queue.Add(times.queue);
  now_.compute_input.Add(times.compute_input);
  now_.compute_infer.Add(times.compute_infer);
  now_.compute_output.Add(times.compute_output);
  now_.inference_count += batch_size;
  now_.last_inference_ms = std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count();
  now_.latencies.Add(times.total);
  now_.total_times.Add(times.total);
  now_.queue_times.Add(times.queue);
  now_.infer_times.Add(times.compute_infer);
  // Runs of parts go on beside each other; their time is shared out.
  const auto runs = static_cast<int64_t>(executed.size());
  for (const uint64_t rows : executed) {
    ++now_.execution_count;
    now_.executed_rows += rows;
    StatisticsSnapshot::Batch& batch = now_.batches[CountedSize(rows)];
    batch.compute_input.Add(times.compute_input / runs);
    batch.compute_infer.Add(times.compute_infer / runs);
    batch.compute_output.Add(times.compute_output / runs);
  }
}

void ModelStatistics::Failed(FailureReason reason, std::chrono::nanoseconds total, bool began) {
  std::lock_guard lock(mutex_);
  --now_.in_flight;
  if (!began) --now_.pending;
  now_.failure.Add(total);
  ++now_.failures[static_cast<int>(reason)];
}

void ModelStatistics::Refused(FailureReason reason, std::chrono::nanoseconds total) {
  std::lock_guard lock(mutex_);
  now_.failure.Add(total);
  ++now_.failures[static_cast<int>(reason)];
}

void ModelStatistics::BatchFailed(BatchFailure why) {
  std::lock_guard lock(mutex_);
  ++now_.batch_failures[static_cast<int>(why)];
}

void ModelStatistics::Shadowed(ShadowResult result) {
  std::lock_guard lock(mutex_);
  ++now_.shadow_requests[static_cast<int>(result)];
}

void ModelStatistics::Padded(uint64_t rows) {
  std::lock_guard lock(mutex_);
  now_.padding_rows += rows;
}

void ModelStatistics::CacheHit(std::chrono::nanoseconds time) {
  std::lock_guard lock(mutex_);
  now_.cache_hit.Add(time);
}

void ModelStatistics::CacheMiss(std::chrono::nanoseconds time) {
  std::lock_guard lock(mutex_);
  now_.cache_miss.Add(time);
}

void ModelStatistics::Loaded(std::chrono::nanoseconds time, std::chrono::nanoseconds warm_up) {
  std::lock_guard lock(mutex_);
  now_.load_seconds = std::chrono::duration<double>(time).count();
  now_.warm_up_seconds = std::chrono::duration<double>(warm_up).count();
}

void ModelStatistics::LoadFailed() {
  std::lock_guard lock(mutex_);
  ++now_.load_failures;
}

void ModelStatistics::SetMetrics(MetricSettings settings) {
  std::lock_guard lock(mutex_);
  now_.labels = std::move(settings.labels);
  now_.batch_size_bounds = std::move(settings.batch_sizes);
  now_.total_times.SetBounds(std::move(settings.request_durations));
  now_.queue_times.SetBounds(std::move(settings.queue_durations));
  now_.infer_times.SetBounds(std::move(settings.compute_durations));
}

StatisticsSnapshot ModelStatistics::snapshot() const {
  std::lock_guard lock(mutex_);
  return now_;
}

}  // namespace hearth::server
