#include "server/telemetry/model_statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hearth::server {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(ModelStatistics, AnAnsweredRequestCountsOnceInEveryDuration) {
  ModelStatistics statistics;
  statistics.Admit(100);
  EXPECT_EQ(statistics.snapshot().pending, 1);
  statistics.Began();
  EXPECT_EQ(statistics.snapshot().pending, 0);
  EXPECT_EQ(statistics.snapshot().in_flight, 1);
  statistics.Succeeded({milliseconds(3), microseconds(10), microseconds(20), milliseconds(2), microseconds(30)}, 4, 4);

  const StatisticsSnapshot now = statistics.snapshot();
  EXPECT_EQ(now.in_flight, 0);
  EXPECT_EQ(now.success.count, 1u);
  EXPECT_EQ(now.success.ns, 3'000'000u);
  EXPECT_EQ(now.queue.ns, 10'000u);
  EXPECT_EQ(now.compute_infer.ns, 2'000'000u);
  EXPECT_EQ(now.inference_count, 4u);
  EXPECT_EQ(now.execution_count, 1u);
  EXPECT_EQ(now.batches.at(4).compute_output.ns, 30'000u);
}

TEST(ModelStatistics, ARunOfSeveralRequestsIsCountedWithOneOfThem) {
  ModelStatistics statistics;
  const RequestTimes times{milliseconds(3), {}, {}, milliseconds(2), {}};
  statistics.Succeeded(times, 1, 3);
  statistics.Succeeded(times, 2, std::nullopt);
  const StatisticsSnapshot now = statistics.snapshot();
  EXPECT_EQ(now.success.count, 2u);
  EXPECT_EQ(now.inference_count, 3u);
  EXPECT_EQ(now.execution_count, 1u);
  EXPECT_EQ(now.executed_rows, 3u);
  ASSERT_EQ(now.batches.size(), 1u);
  EXPECT_EQ(now.batches.at(3).compute_infer.count, 1u);
}

TEST(ModelStatistics, ARequestThatIsTurnedAwayWasNotThere) {
  ModelStatistics statistics;
  ASSERT_TRUE(statistics.Admit(1));
  statistics.TurnedAway();
  EXPECT_EQ(statistics.snapshot().in_flight, 0);
  EXPECT_TRUE(statistics.Admit(1));
}

TEST(ModelStatistics, ClientsThatSendEverySizeOfBatchMakeFewEntries) {
  ModelStatistics statistics;
  constexpr uint64_t kSizes = 100'000;
  for (uint64_t size = 0; size < kSizes; ++size) {
    statistics.Admit(100);
    statistics.Began();
    statistics.Succeeded({milliseconds(1), {}, {}, microseconds(1), {}}, size, size);
  }
  const StatisticsSnapshot now = statistics.snapshot();
  EXPECT_EQ(now.batches.size(), 257u + 8u);
  EXPECT_EQ(now.batches.rbegin()->first, 65536u);
  EXPECT_EQ(now.batches.at(255).compute_infer.count, 1u);
  EXPECT_EQ(now.batches.at(512).compute_infer.count, 512u);
  uint64_t counted = 0;
  for (const auto& [size, batch] : now.batches) counted += batch.compute_infer.count;
  EXPECT_EQ(counted, kSizes);
  EXPECT_EQ(now.execution_count, kSizes);
  EXPECT_EQ(now.inference_count, kSizes * (kSizes - 1) / 2);
}

TEST(ModelStatistics, ALatencyFallsIntoTheFirstBucketThatHoldsIt) {
  ModelStatistics statistics;
  for (auto total : {microseconds(500), microseconds(501), microseconds(60'000'000)}) {
    statistics.Admit(100);
    statistics.Began();
    statistics.Succeeded({total, {}, {}, {}, {}}, 1, 1);
  }
  const StatisticsSnapshot now = statistics.snapshot();
  EXPECT_EQ(now.total_times.buckets[0], 1u);
  EXPECT_EQ(now.total_times.buckets[1], 1u);
  EXPECT_EQ(now.total_times.buckets.back(), 1u);
}

TEST(ModelStatistics, OtherBucketsBeginAHistogramAnew) {
  ModelStatistics statistics;
  const auto answer = [&] {
    statistics.Admit(100);
    statistics.Began();
    statistics.Succeeded({milliseconds(2), milliseconds(1), {}, {}, {}}, 1, 1);
  };
  statistics.SetMetrics({.request_durations = {0.001, 0.003}});
  answer();
  EXPECT_THAT(statistics.snapshot().total_times.buckets, testing::ElementsAre(0, 1, 0));
  statistics.SetMetrics({.request_durations = {0.001, 0.003}});
  EXPECT_EQ(statistics.snapshot().total_times.all.count, 1u);
  statistics.SetMetrics({.request_durations = {0.002}});
  StatisticsSnapshot now = statistics.snapshot();
  EXPECT_THAT(now.total_times.buckets, testing::ElementsAre(0, 0));
  EXPECT_EQ(now.total_times.all.count, 0u);
  EXPECT_EQ(now.queue_times.all.count, 1u);
  EXPECT_EQ(now.success.count, 1u);
  statistics.SetMetrics({});
  now = statistics.snapshot();
  EXPECT_EQ(now.total_times.bounds.size(), kLatencyBuckets.size());
  EXPECT_EQ(now.total_times.buckets.size(), kLatencyBuckets.size() + 1);
}

TEST(ModelStatistics, AFailureBeforeTheRunLeavesNothingPending) {
  ModelStatistics statistics;
  statistics.Admit(100);
  statistics.Failed(FailureReason::kRejected, milliseconds(1), false);
  statistics.Refused(FailureReason::kOther, milliseconds(2));
  const StatisticsSnapshot now = statistics.snapshot();
  EXPECT_EQ(now.pending, 0);
  EXPECT_EQ(now.in_flight, 0);
  EXPECT_EQ(now.failure.count, 2u);
  EXPECT_EQ(now.failures[static_cast<int>(FailureReason::kRejected)], 1u);
  EXPECT_EQ(now.failures[static_cast<int>(FailureReason::kOther)], 1u);
}

TEST(ModelStatistics, NoMoreThanTheBoundMayWait) {
  ModelStatistics statistics;
  EXPECT_TRUE(statistics.Admit(2));
  EXPECT_TRUE(statistics.Admit(2));
  EXPECT_FALSE(statistics.Admit(2));
  statistics.Began();
  EXPECT_TRUE(statistics.Admit(2));
  EXPECT_EQ(statistics.snapshot().in_flight, 3);
}

}  // namespace
}  // namespace hearth::server
