#include "server/telemetry/model_statistics.h"

#include <algorithm>
#include <bit>

namespace hearth::server {
namespace {

uint64_t CountedSize(uint64_t batch_size) {
  return batch_size <= kLargestOwnBatch ? batch_size : std::bit_floor(batch_size);
}

size_t BucketOf(std::chrono::nanoseconds time) {
  const double seconds = std::chrono::duration<double>(time).count();
  return std::lower_bound(kLatencyBuckets.begin(), kLatencyBuckets.end(), seconds) - kLatencyBuckets.begin();
}

}  // namespace

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
  const size_t total_bucket = BucketOf(times.total);
  const size_t queue_bucket = BucketOf(times.queue);
  const size_t infer_bucket = BucketOf(times.compute_infer);
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
  ++now_.total_buckets[total_bucket];
  ++now_.queue_buckets[queue_bucket];
  ++now_.infer_buckets[infer_bucket];
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

StatisticsSnapshot ModelStatistics::snapshot() const {
  std::lock_guard lock(mutex_);
  return now_;
}

}  // namespace hearth::server
