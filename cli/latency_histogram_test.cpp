#include "cli/latency_histogram.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace hearth::cli {
namespace {

using std::chrono::nanoseconds;

TEST(LatencyHistogram, PercentilesAreThoseOfTheSortedValuesWithinASixtyFourth) {
  LatencyHistogram histogram;
  std::mt19937_64 random(1);
  std::vector<int64_t> values;
  for (int i = 0; i < 10000; ++i) {
    values.push_back(static_cast<int64_t>(std::exp(std::lognormal_distribution<double>(0.5, 0.4)(random)) * 1e5));
    histogram.Add(nanoseconds(values.back()));
  }
  std::sort(values.begin(), values.end());
  for (const double share : {0.5, 0.9, 0.95, 0.99, 0.999}) {
    const auto exact = static_cast<double>(values[static_cast<size_t>(share * 10000) - 1]);
    const auto got = static_cast<double>(histogram.Percentile(share).count());
    EXPECT_GE(got, exact);
    EXPECT_LE(got, exact * (1 + 1.0 / 64));
  }
  EXPECT_EQ(histogram.least().count(), values.front());
  EXPECT_EQ(histogram.largest().count(), values.back());
  EXPECT_EQ(histogram.Percentile(1).count(), values.back());
}

TEST(LatencyHistogram, SmallAndHugeValuesHaveTheirPlaces) {
  LatencyHistogram histogram;
  histogram.Add(nanoseconds(0));
  histogram.Add(nanoseconds(63));
  histogram.Add(nanoseconds(64));
  histogram.Add(nanoseconds(INT64_MAX));
  EXPECT_EQ(histogram.Percentile(0.25).count(), 0);
  EXPECT_EQ(histogram.Percentile(0.5).count(), 63);
  EXPECT_EQ(histogram.Percentile(0.75).count(), 64);
  EXPECT_EQ(histogram.Percentile(1).count(), INT64_MAX);
}

TEST(LatencyHistogram, OnesOfSeveralThreadsAddUp) {
  LatencyHistogram one, other;
  one.Add(nanoseconds(10));
  other.Add(nanoseconds(30));
  one.Add(other);
  EXPECT_EQ(one.count(), 2u);
  EXPECT_EQ(one.mean().count(), 20);
  EXPECT_EQ(LatencyHistogram().mean().count(), 0);
  EXPECT_EQ(LatencyHistogram().Percentile(0.5).count(), 0);
}

}  // namespace
}  // namespace hearth::cli
