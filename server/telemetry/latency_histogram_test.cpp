#include "server/telemetry/latency_histogram.h"

#include <gtest/gtest.h>

namespace hearth::server {
namespace {

using std::chrono::microseconds;

TEST(LatencyHistogram, PercentilesAreAQuarterTooLargeAtMost) {
  for (int64_t time = 1; time < 60'000'000; time = time * 3 / 2 + 1) {
    LatencyHistogram histogram;
    histogram.Add(microseconds(time));
    const double seconds = static_cast<double>(time) * 1e-6;
    EXPECT_GE(histogram.Percentile(1), seconds) << time;
    EXPECT_LE(histogram.Percentile(1), std::max(seconds * 1.25, seconds + 1e-6) + 1e-12) << time;
  }
}

TEST(LatencyHistogram, PercentilesRankTheLatencies) {
  LatencyHistogram histogram;
  for (int i = 0; i < 98; ++i) histogram.Add(microseconds(100));
  histogram.Add(microseconds(10'000));
  histogram.Add(microseconds(1'000'000));
  EXPECT_EQ(histogram.count(), 100);
  EXPECT_NEAR(histogram.Percentile(0.5), 1e-4, 3e-5);
  EXPECT_NEAR(histogram.Percentile(0.99), 0.01, 0.0025);
  EXPECT_NEAR(histogram.Percentile(1), 1, 0.25);
}

TEST(LatencyHistogram, WhatIsBeyondAllBucketsIsInTheLast) {
  LatencyHistogram histogram;
  histogram.Add(std::chrono::hours(1));
  EXPECT_EQ(histogram.count(LatencyHistogram::kBuckets - 1), 1);
  EXPECT_GT(histogram.Percentile(0.5), 50);
}

TEST(LatencyHistogram, ADifferenceHasWhatCameSince) {
  LatencyHistogram histogram;
  histogram.Add(microseconds(10));
  const LatencyHistogram before = histogram;
  histogram.Add(microseconds(20'000));
  const LatencyHistogram since = histogram.Since(before);
  EXPECT_EQ(since.count(), 1);
  EXPECT_GT(since.Percentile(0.5), 0.01);
  EXPECT_EQ(LatencyHistogram().Percentile(0.5), 0);
}

}  // namespace
}  // namespace hearth::server
