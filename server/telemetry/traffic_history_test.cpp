#include "server/telemetry/traffic_history.h"

#include <gtest/gtest.h>

namespace hearth::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const TrafficHistory::TimePoint kStart{};

ModelSample SampleOf(const std::string& model, const ModelStatistics& statistics) {
  ModelSample sample;
  sample.model = model;
  sample.version = "1";
  sample.statistics = statistics.snapshot();
  return sample;
}

void Answer(ModelStatistics& statistics, milliseconds total) {
  statistics.Admit(1000);
  statistics.Began();
  statistics.Succeeded({.total = total, .compute_infer = total / 2}, 1, 1);
}

TEST(TrafficHistory, APointHasWhatCameSinceTheOneBefore) {
  ModelStatistics statistics;
  TrafficHistory history(kStart);
  Answer(statistics, milliseconds(10));
  history.Add(kStart + seconds(5), {SampleOf("m", statistics)}, 1, 2.5);
  Answer(statistics, milliseconds(100));
  Answer(statistics, milliseconds(100));
  statistics.Refused(FailureReason::kOther, milliseconds(1));
  statistics.Admit(1000);
  history.Add(kStart + seconds(15), {SampleOf("m", statistics)}, 7, 12.5);

  const auto points = history.PointsOf("m", "1");
  ASSERT_EQ(points.size(), 2);
  EXPECT_EQ(points[0].requests, 1);
  EXPECT_NEAR(points[0].latencies.Percentile(0.5), 0.01, 0.003);
  EXPECT_EQ(points[1].requests, 2);
  EXPECT_EQ(points[1].failures, 1);
  EXPECT_EQ(points[1].pending, 1);
  EXPECT_EQ(points[1].infer.ns, 100'000'000);
  EXPECT_EQ(points[1].length.count(), 10);
  EXPECT_NEAR(points[1].latencies.Percentile(0.5), 0.1, 0.025);
  const auto process = history.ProcessPoints();
  EXPECT_EQ(process[1].resident_bytes, 7);
  EXPECT_EQ(process[0].processors, 0.5);
  EXPECT_EQ(process[1].processors, 1);
}

TEST(TrafficHistory, AllVersionsTogetherAreTheirSum) {
  ModelStatistics one, other;
  Answer(one, milliseconds(1));
  Answer(other, milliseconds(2));
  one.Admit(10);
  other.Admit(10);
  TrafficHistory history(kStart);
  history.Add(kStart + seconds(5), {SampleOf("one", one), SampleOf("other", other)}, 0, 0);
  const auto points = history.PointsOfAll();
  ASSERT_EQ(points.size(), 1);
  EXPECT_EQ(points[0].requests, 2);
  EXPECT_EQ(points[0].in_flight, 2);
  EXPECT_EQ(points[0].length.count(), 5);
}

TEST(TrafficHistory, PointsAndVersionsAreBoundedAndVersionsThatAreGoneAreForgotten) {
  ModelStatistics statistics;
  TrafficHistory history(kStart);
  std::vector<ModelSample> many;
  for (size_t i = 0; i < TrafficHistory::kMostVersions + 10; ++i) {
    many.push_back(SampleOf(std::to_string(i), statistics));
  }
  history.Add(kStart + seconds(5), many, 0, 0);
  EXPECT_EQ(history.PointsOf("0", "1").size(), 1);
  EXPECT_TRUE(history.PointsOf(many.back().model, "1").empty());

  for (int i = 2; i < 100; ++i) history.Add(kStart + seconds(5 * i), {many.back()}, 0, 0);
  EXPECT_TRUE(history.PointsOf("0", "1").empty());
  EXPECT_EQ(history.PointsOf(many.back().model, "1").size(), TrafficHistory::kMostPoints);
  EXPECT_EQ(history.PointsOfAll().size(), TrafficHistory::kMostPoints);
  EXPECT_EQ(history.ProcessPoints().size(), TrafficHistory::kMostPoints);
}

}  // namespace
}  // namespace hearth::server
