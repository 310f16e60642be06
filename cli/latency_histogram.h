// Latencies of any number of requests in memory that does not grow: counts of buckets that are a sixty-fourth of their
// values wide, so that a percentile is at most 1.6 % too large. Sum, least and largest are exact. Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace hearth::cli {

class LatencyHistogram {
 public:
  using Time = std::chrono::nanoseconds;

  void Add(Time time) {
    const auto value = static_cast<uint64_t>(std::max<int64_t>(time.count(), 0));
    ++counts_[BucketOf(value)];
    ++count_;
    sum_ += value;
    least_ = std::min(least_, value);
    largest_ = std::max(largest_, value);
  }

  void Add(const LatencyHistogram& other) {
    for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    least_ = std::min(least_, other.least_);
    largest_ = std::max(largest_, other.largest_);
  }

  uint64_t count() const { return count_; }
  // 0 where there are none, as the others.
  Time mean() const { return Time(count_ == 0 ? 0 : sum_ / count_); }
  Time least() const { return Time(count_ == 0 ? 0 : least_); }
  Time largest() const { return Time(largest_); }

  // What `share` of the latencies do not exceed, 0.99 for the 99th percentile.
  Time Percentile(double share) const {
    const auto wanted = std::max<uint64_t>(static_cast<uint64_t>(share * static_cast<double>(count_) + 0.5), 1);
    uint64_t seen = 0;
    for (size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen >= wanted) return Time(std::clamp(LastOf(i), least_, largest_));
    }
    return largest();
  }

 private:
  // Values below 64 have a bucket each; of each power of two from there on there are 64.
  static constexpr int kBits = 6;
  static constexpr uint64_t kSteps = uint64_t{1} << kBits;

  static size_t BucketOf(uint64_t value) {
    if (value < kSteps) return value;
    const int shift = std::bit_width(value) - 1 - kBits;
    return (static_cast<uint64_t>(shift) + 1) * kSteps + ((value >> shift) - kSteps);
  }
  static uint64_t LastOf(size_t bucket) {
    if (bucket < kSteps) return bucket;
    const int shift = static_cast<int>(bucket / kSteps) - 1;
    const uint64_t first = (kSteps + bucket % kSteps) << shift;
    return first + ((uint64_t{1} << shift) - 1);
  }

  std::array<uint64_t, (64 - kBits + 1) * kSteps> counts_{};
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  uint64_t least_ = UINT64_MAX;
  uint64_t largest_ = 0;
};

}  // namespace hearth::cli
