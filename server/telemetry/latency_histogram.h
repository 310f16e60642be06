// Latencies in few buckets, for percentiles of the last minutes: four buckets to each power of two of microseconds, so
// that a percentile is at most a quarter too large, up to a minute and beyond in the last one. Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace hearth::server {

class LatencyHistogram {
 public:
  void Add(std::chrono::nanoseconds time) {
    const int64_t microseconds = std::chrono::duration_cast<std::chrono::microseconds>(time).count();
    ++counts_[BucketOf(static_cast<uint64_t>(std::max<int64_t>(microseconds, 0)))];
  }

  void Add(const LatencyHistogram& other) {
    for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  }

  // Without those of an earlier state of this one.
  LatencyHistogram Since(const LatencyHistogram& before) const {
    LatencyHistogram since;
    for (size_t i = 0; i < counts_.size(); ++i) since.counts_[i] = counts_[i] - before.counts_[i];
    return since;
  }

  uint64_t count() const {
    uint64_t count = 0;
    for (const uint64_t each : counts_) count += each;
    return count;
  }

  // Seconds that `share` of the latencies do not exceed, 0.99 for the 99th percentile; within a bucket they are taken
  // to be spread evenly. 0 where there are none.
  double Percentile(double share) const {
    const double wanted = share * static_cast<double>(count());
    double seen = 0;
    for (size_t i = 0; i < counts_.size(); ++i) {
      const auto here = static_cast<double>(counts_[i]);
      if (here > 0 && seen + here >= wanted) return From(i) + (To(i) - From(i)) * std::max(wanted - seen, 0.0) / here;
      seen += here;
    }
    return 0;
  }

  static constexpr size_t kBuckets = 100;
  uint64_t count(size_t bucket) const { return counts_[bucket]; }
  // The bounds of a bucket in seconds.
  static double From(size_t bucket) { return static_cast<double>(FirstOf(bucket)) * 1e-6; }
  static double To(size_t bucket) { return static_cast<double>(FirstOf(bucket + 1)) * 1e-6; }

 private:
  // Values below 4 have a bucket each; of each power of two from there on there are 4.
  static constexpr int kBits = 2;
  static constexpr uint64_t kSteps = uint64_t{1} << kBits;

  static size_t BucketOf(uint64_t value) {
    if (value < kSteps) return value;
    const int shift = std::bit_width(value) - 1 - kBits;
    return std::min<size_t>((static_cast<uint64_t>(shift) + 1) * kSteps + ((value >> shift) - kSteps), kBuckets - 1);
  }
  static uint64_t FirstOf(size_t bucket) {
    if (bucket < kSteps) return bucket;
    return (kSteps + bucket % kSteps) << (bucket / kSteps - 1);
  }

  std::array<uint64_t, kBuckets> counts_{};
};

}  // namespace hearth::server
