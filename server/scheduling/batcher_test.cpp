#include "server/scheduling/batcher.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "server/scheduling/batcher_testing.h"
#include "server/scheduling/retry_advice.h"

namespace hearth::server {
namespace {

using c10::IValue;
using std::chrono::microseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST_F(BatcherTest, ACallOfAnIdleModelRunsAtOnceAsItIs) {
  DispatchedCall call;
  ASSERT_TRUE(Add(1).ok());
  ASSERT_EQ(runs_.size(), 1U);
  EXPECT_EQ(host_.works, 0);
  AnswerDoubled();
  EXPECT_EQ(AnswerTo(1), 2);
  EXPECT_TRUE(executions_.at(1).counts);
}

TEST_F(BatcherTest, CallsThatWaitForARunAreTheNextOne) {
  for (const float value : {1, 2, 3}) ASSERT_TRUE(Add(value).ok());
  ASSERT_TRUE(Add(4, {}, 2).ok());
  EXPECT_EQ(runs_.size(), 1U);
  AnswerDoubled();
  EXPECT_THAT(order_, ElementsAre(1));
  EXPECT_TRUE(started_before_answer_) << "the model does not wait for answers to be written";
  EXPECT_THAT(InRun(), ElementsAre(2, 3, 4, 4));
  AnswerDoubled();
  EXPECT_THAT(order_, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(AnswerTo(3), 6);
  EXPECT_EQ(answers_.at(4)->toTensor().size(0), 2);
  EXPECT_EQ(executions_.at(2).rows, 4);
  EXPECT_TRUE(executions_.at(2).counts);
  EXPECT_FALSE(executions_.at(3).counts);
}

TEST_F(BatcherTest, CallsThatWaitForASlotAreABatchWhenItComes) {
  ModelShare& other = host_.shares.ShareOf("other", 1);
  std::vector<RunSlot> taken;
  while (auto slot = host_.TakeSlot(other, nullptr)) taken.push_back(*slot);
  for (const float value : {1, 2, 3}) ASSERT_TRUE(Add(value).ok());
  EXPECT_TRUE(runs_.empty());
  host_.FreeSlot(taken.back());
  host_.Work();
  ASSERT_EQ(runs_.size(), 1U);
  EXPECT_THAT(InRun(), ElementsAre(1, 2, 3));
  ASSERT_TRUE(Add(4).ok());
  AnswerDoubled();
  EXPECT_THAT(InRun(), ElementsAre(4)) << "the run's slot is free again";
  AnswerDoubled();
}

TEST_F(BatcherTest, ACallThatLeavesWhileItWaitsForASlotLeavesTheSlotToOthers) {
  ModelShare& other = host_.shares.ShareOf("other", 1);
  std::vector<RunSlot> taken;
  while (auto slot = host_.TakeSlot(other, nullptr)) taken.push_back(*slot);
  auto handle = Add(1);
  ASSERT_TRUE(handle.ok());
  (*handle)->Cancel();
  host_.FreeSlot(taken.back());
  host_.Work();
  EXPECT_TRUE(runs_.empty());
  EXPECT_TRUE(host_.TakeSlot(other, nullptr).has_value());
}

TEST_F(BatcherTest, ABatchHasNoMoreRowsThanItMay) {
  ASSERT_TRUE(Add(0).ok());
  for (const float value : {1, 2, 3}) ASSERT_TRUE(Add(value, {}, 3).ok());
  AnswerDoubled();
  EXPECT_EQ(runs_.front().x().size(0), 6);
  AnswerDoubled();
  EXPECT_EQ(runs_.front().x().size(0), 3);
  AnswerDoubled();
}

TEST_F(BatcherTest, WhatDoesNotFitWaitsForARunOfItsOwn) {
  ASSERT_TRUE(Add(0).ok());
  ASSERT_TRUE(Add(1, {}, 1, 2).ok());
  ASSERT_TRUE(Add(2, {}, 1, 5).ok());
  ASSERT_TRUE(Add(3, {}, 1, 2).ok());
  ASSERT_TRUE(Add(4, {}, 9, 2).ok());  // more rows than a batch has
  AnswerDoubled();
  EXPECT_THAT(InRun(), ElementsAre(1, 3));
  AnswerDoubled();
  EXPECT_THAT(InRun(), ElementsAre(2));
  AnswerDoubled();
  EXPECT_EQ(runs_.front().x().size(0), 9);
  AnswerDoubled();
}

TEST_F(BatcherTest, AsManyRunsAsTheConfigurationSaysAreUnderWayAtOnce) {
  settings().runs = 2;
  for (const float value : {1, 2, 3, 4}) ASSERT_TRUE(Add(value).ok());
  EXPECT_EQ(runs_.size(), 2U);
  AnswerDoubled();
  EXPECT_EQ(runs_.size(), 2U);
  AnswerDoubled();
  EXPECT_THAT(InRun(), ElementsAre(3, 4));
  AnswerDoubled();
}

TEST_F(BatcherTest, ADelayIsHowLongABatchWaitsForMore) {
  settings().delay = microseconds(100);
  ASSERT_TRUE(Add(1).ok());
  host_.Pass(microseconds(60));
  ASSERT_TRUE(Add(2).ok());
  host_.Pass(microseconds(39));
  EXPECT_THAT(runs_, IsEmpty());
  host_.Pass(microseconds(1));
  EXPECT_THAT(InRun(), ElementsAre(1, 2));
  AnswerDoubled();
}

TEST_F(BatcherTest, ALoneClientPaysADelayOnce) {
  settings().delay = microseconds(100);
  ASSERT_TRUE(Add(1).ok());
  EXPECT_THAT(runs_, IsEmpty());
  host_.Pass(microseconds(100));
  AnswerDoubled();
  for (const float value : {2, 3}) {
    ASSERT_TRUE(Add(value).ok());
    AnswerDoubled();
  }
  EXPECT_THAT(order_, ElementsAre(1, 2, 3));
}

// Clients that have one call each, of a model that runs one batch at a time, for 10 ms, and whose delay follows them.
class TrafficTest : public BatcherTest {
 protected:
  // The first call is alone, the others are the next batch.
  void Begin(int clients) {
    settings().runs = 1;
    for (int i = 0; i < clients; ++i) ASSERT_TRUE(Add(static_cast<float>(i)).ok());
  }
  void AnswerAfterARun() {
    host_.Pass(std::chrono::milliseconds(10));
    AnswerDoubled();
  }
};

TEST_F(TrafficTest, WhoWasAnsweredIsInTheNextBatch) {
  Begin(4);
  AnswerAfterARun();
  EXPECT_THAT(runs_, IsEmpty()) << "three wait for the one that was answered";
  host_.Pass(microseconds(400));
  ASSERT_TRUE(Add(10).ok());
  EXPECT_THAT(InRun(), ElementsAre(1, 2, 3, 10)) << "and for nobody else";
  AnswerAfterARun();
  for (const float value : {20, 21, 22}) {
    host_.Pass(microseconds(100));
    ASSERT_TRUE(Add(value).ok());
    EXPECT_THAT(runs_, IsEmpty());
  }
  ASSERT_TRUE(Add(23).ok());
  EXPECT_THAT(InRun(), ElementsAre(20, 21, 22, 23));
  AnswerAfterARun();
}

TEST_F(TrafficTest, WhoDoesNotComeBackIsWaitedForOnce) {
  Begin(4);
  AnswerAfterARun();
  EXPECT_THAT(runs_, IsEmpty());
  host_.Pass(microseconds(2499));
  EXPECT_THAT(runs_, IsEmpty());
  host_.Pass(microseconds(1));
  EXPECT_THAT(InRun(), ElementsAre(1, 2, 3)) << "one of four, so for a quarter of a run's time";
  AnswerAfterARun();
  host_.Pass(microseconds(100));
  for (const float value : {11, 12, 13}) ASSERT_TRUE(Add(value).ok());
  EXPECT_THAT(InRun(), ElementsAre(11, 12, 13));
  AnswerAfterARun();
}

TEST_F(TrafficTest, AWaitLeavesTimeForARunBeforeADeadline) {
  settings().runs = 1;
  ASSERT_TRUE(Add(0).ok());
  ASSERT_TRUE(Add(1, WithDeadline(host_.time + std::chrono::milliseconds(31))).ok());
  ASSERT_TRUE(Add(2).ok());
  AnswerAfterARun();
  EXPECT_THAT(runs_, IsEmpty());
  host_.Pass(std::chrono::milliseconds(1));
  EXPECT_THAT(InRun(), ElementsAre(1, 2)) << "and not after a third of a run's time";
  AnswerAfterARun();
}

TEST_F(TrafficTest, ADelayOfZeroIsNoWait) {
  settings().delay = microseconds(0);
  Begin(4);
  AnswerAfterARun();
  EXPECT_THAT(InRun(), ElementsAre(1, 2, 3));
  AnswerAfterARun();
}

TEST_F(TrafficTest, WhoLeavesUnansweredMayComeBack) {
  settings().levels[0].max_waiting = 2;
  Begin(2);
  const auto cancelled = Add(2);
  ASSERT_FALSE(Add(3).ok()) << "the queue is full";
  (*cancelled)->Cancel();
  AnswerAfterARun();
  EXPECT_THAT(runs_, IsEmpty());
  host_.Pass(microseconds(100));
  ASSERT_TRUE(Add(10).ok());
  EXPECT_THAT(runs_, IsEmpty()) << "two of the four that were there at once";
  host_.Pass(std::chrono::milliseconds(10));
  EXPECT_THAT(InRun(), ElementsAre(1, 10));
  AnswerAfterARun();
  for (const float value : {20, 21}) ASSERT_TRUE(Add(value).ok());
  EXPECT_THAT(InRun(), ElementsAre(20, 21));
  AnswerAfterARun();
}

TEST_F(TrafficTest, CallsThatAreRunOneByOneAreThereOnce) {
  Begin(3);
  AnswerAfterARun();
  host_.Pass(microseconds(100));
  ASSERT_TRUE(Add(3).ok());
  ASSERT_THAT(InRun(), ElementsAre(1, 2, 3));
  Answer(absl::InternalError("raised"));
  while (!runs_.empty()) AnswerAfterARun();
  host_.Pass(microseconds(100));
  for (const float value : {10, 11}) ASSERT_TRUE(Add(value).ok());
  EXPECT_THAT(runs_, IsEmpty()) << "the third is expected";
  ASSERT_TRUE(Add(12).ok());
  EXPECT_THAT(InRun(), ElementsAre(10, 11, 12));
  AnswerAfterARun();
}

TEST_F(BatcherTest, AFullBatchWaitsForNoDelay) {
  settings().delay = std::chrono::hours(1);
  ASSERT_TRUE(Add(1, {}, 5).ok());
  ASSERT_TRUE(Add(2, {}, 4).ok());
  EXPECT_EQ(runs_.front().x().size(0), 5) << "the other one does not fit into it";
  AnswerDoubled();
  EXPECT_THAT(runs_, IsEmpty());
  ASSERT_TRUE(Add(3, {}, 4).ok());
  EXPECT_EQ(runs_.front().x().size(0), 8);
  AnswerDoubled();
}

TEST_F(BatcherTest, OfPreferredSizesTheLargestIsTakenThatThereIs) {
  settings().delay = std::chrono::hours(1);
  settings().preferred = {2, 4};
  ASSERT_TRUE(Add(0).ok());
  EXPECT_THAT(runs_, IsEmpty());
  ASSERT_TRUE(Add(1).ok());
  EXPECT_THAT(InRun(), ElementsAre(0, 1));
  for (const float value : {2, 3, 4, 5, 6}) ASSERT_TRUE(Add(value).ok());
  AnswerDoubled();
  EXPECT_THAT(InRun(), ElementsAre(2, 3, 4, 5));
  AnswerDoubled();
  EXPECT_THAT(runs_, IsEmpty());
  host_.Pass(std::chrono::hours(1));
  EXPECT_THAT(InRun(), ElementsAre(6));
  AnswerDoubled();
}

TEST_F(BatcherTest, HigherPrioritiesGoFirst) {
  settings().levels.resize(3);
  settings().default_level = 2;
  settings().max_rows = 2;
  ASSERT_TRUE(Add(0).ok());
  ASSERT_TRUE(AddWithPriority(1, 3).ok());
  ASSERT_TRUE(AddWithPriority(2, 0).ok());
  ASSERT_TRUE(AddWithPriority(3, 1).ok());
  ASSERT_TRUE(AddWithPriority(4, 1).ok());
  ASSERT_TRUE(AddWithPriority(5, 2).ok());
  AnswerDoubled();
  EXPECT_THAT(InRun(), ElementsAre(3, 4));
  AnswerDoubled();
  EXPECT_THAT(InRun(), ElementsAre(2, 5));
  AnswerDoubled();
  EXPECT_THAT(InRun(), ElementsAre(1));
  AnswerDoubled();
}

TEST_F(BatcherTest, ALevelsQueueIsBounded) {
  settings().levels.resize(2);
  settings().levels[1].max_waiting = 1;
  ASSERT_TRUE(Add(0).ok());
  ASSERT_TRUE(AddWithPriority(1, 2).ok());
  const auto refused = AddWithPriority(2, 2);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("the queue of model 'm' is full: 1 requests of priority 2 wait"));
  EXPECT_TRUE(AddWithPriority(3, 1).ok());
  AnswerDoubled();
  EXPECT_THAT(InRun(), ElementsAre(3, 1));
  AnswerDoubled();
}

TEST_F(BatcherTest, AModelWhoseCallsAreNotBatchedHasMoreRuns) {
  settings().max_rows = 1;
  settings().levels[0].timeout = microseconds(10);
  for (const float value : {1, 2, 3, 4}) ASSERT_TRUE(Add(value).ok());
  EXPECT_EQ(runs_.size(), 3U);
  AnswerDoubled();
  EXPECT_EQ(runs_.size(), 3U);
  while (!runs_.empty()) AnswerDoubled();
  EXPECT_EQ(AnswerTo(4), 8);
}

TEST_F(BatcherTest, ATimeoutRejects) {
  settings().levels[0].timeout = microseconds(100);
  settings().levels[0].may_shorten = true;
  ASSERT_TRUE(Add(0).ok());
  ASSERT_TRUE(Add(1).ok());
  DispatchedCall shorter, longer;
  shorter.queue.timeout = microseconds(50);
  longer.queue.timeout = microseconds(500);
  ASSERT_TRUE(Add(2, std::move(shorter)).ok());
  ASSERT_TRUE(Add(3, std::move(longer)).ok());
  host_.Pass(microseconds(50));
  EXPECT_THAT(order_, ElementsAre(2));
  EXPECT_EQ(answers_.at(2).status().code(), absl::StatusCode::kDeadlineExceeded);
  host_.Pass(microseconds(50));
  EXPECT_THAT(order_, UnorderedElementsAre(1, 2, 3));
  AnswerDoubled();
  EXPECT_THAT(runs_, IsEmpty());
}

TEST_F(BatcherTest, ATimeoutDelaysBehindAllOthersOfTheLevel) {
  settings().delay = microseconds(0);
  settings().levels[0] = {.max_waiting = 0, .timeout = microseconds(100), .delays = true, .may_shorten = false};
  settings().max_rows = 2;
  ASSERT_TRUE(Add(0).ok());
  ASSERT_TRUE(Add(1).ok());
  host_.Pass(microseconds(100));
  ASSERT_TRUE(Add(2).ok());
  ASSERT_TRUE(Add(3).ok());
  AnswerDoubled();
  EXPECT_THAT(InRun(), ElementsAre(2, 3));
  AnswerDoubled();
  EXPECT_THAT(InRun(), ElementsAre(1));
  AnswerDoubled();
}

TEST_F(BatcherTest, NothingOvertakesWhereTheOrderIsKept) {
  settings().keeps_order = true;
  settings().runs = 1;
  ASSERT_TRUE(Add(0).ok());
  ASSERT_TRUE(Add(1, {}, 1, 2).ok());
  ASSERT_TRUE(Add(2, {}, 1, 2).ok());
  ASSERT_TRUE(Add(3, {}, 1, 5).ok());
  ASSERT_TRUE(Add(4, {}, 1, 2).ok());
  AnswerDoubled();
  AnswerDoubled();
  Answer(absl::InternalError("raised"));
  AnswerDoubled();
  EXPECT_THAT(order_, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_FALSE(started_before_answer_);
}

TEST_F(BatcherTest, WhereTheOrderIsKeptABatchWaitsForNoMoreBehindWhatDoesNotFit) {
  settings().keeps_order = true;
  settings().runs = 1;
  settings().delay = std::chrono::hours(1);
  ASSERT_TRUE(Add(1, {}, 1, 2).ok());
  EXPECT_THAT(runs_, IsEmpty());
  ASSERT_TRUE(Add(2, {}, 1, 5).ok());
  EXPECT_THAT(InRun(), ElementsAre(1));
  AnswerDoubled();
  host_.Pass(std::chrono::hours(1));
  AnswerDoubled();
}

TEST_F(BatcherTest, WhoIsCancelledOrLateLeavesTheQueue) {
  settings().delay = microseconds(0);
  ASSERT_TRUE(Add(0).ok());
  const auto cancelled = Add(1);
  ASSERT_TRUE(Add(2, WithDeadline(host_.time + microseconds(10))).ok());
  ASSERT_TRUE(Add(3).ok());
  (*cancelled)->Cancel();
  EXPECT_EQ(answers_.at(1).status().code(), absl::StatusCode::kCancelled);
  host_.Pass(microseconds(10));
  EXPECT_EQ(answers_.at(2).status().code(), absl::StatusCode::kDeadlineExceeded);
  AnswerDoubled();
  EXPECT_THAT(InRun(), ElementsAre(3));
  AnswerDoubled();
  (*cancelled)->Cancel();
}

TEST_F(BatcherTest, AnAlarmThatIsSetStandsForLaterOnes) {
  settings().runs = 1;
  settings().delay = microseconds(0);
  settings().levels[0] = {.max_waiting = 0, .timeout = microseconds(100), .delays = true, .may_shorten = false};
  ASSERT_TRUE(Add(0).ok());
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_TRUE(Add(1, WithDeadline(host_.time + microseconds(10'000))).ok());
    host_.Pass(microseconds(100));
    EXPECT_LE(host_.alarms.size(), 1U) << "the first deadline of all that ever waited";
    AnswerDoubled();
  }
  AnswerDoubled();
}

TEST_F(BatcherTest, ABatchGoesOnWithoutWhoLeavesIt) {
  ASSERT_TRUE(Add(0).ok());
  const auto cancelled = Add(1);
  ASSERT_TRUE(Add(2, WithDeadline(host_.time + microseconds(10))).ok());
  ASSERT_TRUE(Add(3).ok());
  AnswerDoubled();
  EXPECT_THAT(InRun(), ElementsAre(1, 2, 3));
  EXPECT_FALSE(runs_.front().options.deadline.has_value());
  (*cancelled)->Cancel();
  host_.Pass(microseconds(10));
  EXPECT_EQ(answers_.at(1).status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(answers_.at(2).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(std::static_pointer_cast<Cancellable>(runs_.front().handle)->cancelled);
  AnswerDoubled();
  EXPECT_EQ(AnswerTo(3), 6);
  EXPECT_TRUE(executions_.at(3).counts);
}

TEST_F(BatcherTest, ABatchThatNobodyWaitsForIsCancelled) {
  ASSERT_TRUE(Add(0).ok());
  const auto one = Add(1);
  const auto other = Add(2);
  AnswerDoubled();
  (*one)->Cancel();
  (*other)->Cancel();
  EXPECT_THAT(order_, ElementsAre(0, 1, 2));
  EXPECT_TRUE(std::static_pointer_cast<Cancellable>(runs_.front().handle)->cancelled);
  ASSERT_TRUE(Add(3).ok());
  Answer(absl::CancelledError("the call was cancelled"));
  AnswerDoubled();
  EXPECT_EQ(AnswerTo(3), 6);
}

TEST_F(BatcherTest, ABatchThatAllLeaveWhileItIsStartedIsCancelled) {
  ASSERT_TRUE(Add(0).ok());
  const auto one = Add(1);
  const auto other = Add(2);
  static_cast<RunsByHand&>(*servable_->model).meanwhile = [&] {
    (*one)->Cancel();
    (*other)->Cancel();
  };
  AnswerDoubled();
  EXPECT_TRUE(std::static_pointer_cast<Cancellable>(runs_.front().handle)->cancelled);
  Answer(absl::CancelledError("the call was cancelled"));
}

TEST_F(BatcherTest, WhoLeavesBeforeABatchIsMadeIsNotInIt) {
  ASSERT_TRUE(Add(0).ok());
  const auto cancelled = Add(1);
  ASSERT_TRUE(Add(2).ok());
  const RunUnderWay first = std::move(runs_.front());
  runs_.pop_front();
  first.callback(IValue(first.x()));
  (*cancelled)->Cancel();
  host_.Work();
  EXPECT_THAT(InRun(), ElementsAre(2));
  AnswerDoubled();
}

TEST_F(BatcherTest, TheCallsOfABatchThatFailsAreRunOneByOne) {
  ASSERT_TRUE(Add(0).ok());
  for (const float value : {1, 2, 3}) ASSERT_TRUE(Add(value).ok());
  AnswerDoubled();
  Answer(absl::InternalError("raised"));
  ASSERT_TRUE(Add(4).ok());
  EXPECT_THAT(InRun(), ElementsAre(1));
  AnswerDoubled();
  Answer(absl::InternalError("raised by the second"));
  EXPECT_THAT(InRun(), ElementsAre(3)) << "before what came later";
  AnswerDoubled();
  EXPECT_EQ(AnswerTo(1), 2);
  EXPECT_EQ(answers_.at(2).status().message(), "raised by the second");
  EXPECT_EQ(AnswerTo(3), 6);
  EXPECT_TRUE(executions_.at(3).counts);
  AnswerDoubled();
  EXPECT_THAT(servable_->statistics->snapshot().batch_failures, ElementsAre(1, 0, 0, 0));
  EXPECT_EQ(servable_->statistics->snapshot().pending, 2) << "of the calls that run by themselves the host tells";
}

TEST_F(BatcherTest, WhoLeavesWhileCallsAreRunOneByOneIsNotRun) {
  ASSERT_TRUE(Add(0).ok());
  const auto one = Add(1);
  ASSERT_TRUE(Add(2).ok());
  const auto other = Add(3);
  AnswerDoubled();
  Answer(absl::ResourceExhaustedError("memory"));
  (*one)->Cancel();
  EXPECT_TRUE(std::static_pointer_cast<Cancellable>(runs_.front().handle)->cancelled);
  (*other)->Cancel();
  Answer(absl::CancelledError("cancelled"));
  EXPECT_THAT(InRun(), ElementsAre(2));
  AnswerDoubled();
  EXPECT_THAT(runs_, IsEmpty());
  EXPECT_THAT(servable_->statistics->snapshot().batch_failures, ElementsAre(0, 1, 0, 0));
}

TEST_F(BatcherTest, TheCallsOfABatchThatTakesLongerThanARunMayAreRunOneByOne) {
  ASSERT_TRUE(Add(0).ok());
  ASSERT_TRUE(Add(1).ok());
  ASSERT_TRUE(Add(2, WithDeadline(host_.time + microseconds(100))).ok());
  ASSERT_TRUE(Add(3, WithDeadline(host_.time + std::chrono::hours(1))).ok());
  AnswerDoubled();
  ASSERT_THAT(InRun(), ElementsAre(1, 2, 3));
  host_.Pass(microseconds(100));
  Answer(absl::DeadlineExceededError("more than 0.1 ms"));
  EXPECT_THAT(InRun(), ElementsAre(1));
  Answer(absl::DeadlineExceededError("more than 0.1 ms by itself"));
  EXPECT_THAT(InRun(), ElementsAre(3)) << "the second one's deadline has passed";
  AnswerDoubled();
  EXPECT_EQ(answers_.at(1).status().message(), "more than 0.1 ms by itself");
  EXPECT_EQ(answers_.at(2).status().message(), "the request's deadline has passed");
  EXPECT_EQ(AnswerTo(3), 6);
  EXPECT_THAT(servable_->statistics->snapshot().batch_failures, ElementsAre(0, 0, 0, 1));
}

TEST_F(BatcherTest, AnswersWithOtherRowsAreNotTakenApartAndEndBatching) {
  for (int i = 0; i < Batcher::kMostWrongAnswers; ++i) {
    const auto base = static_cast<float>(10 * i);
    for (const int offset : {0, 1, 2}) ASSERT_TRUE(Add(base + static_cast<float>(offset)).ok());
    AnswerDoubled();
    Answer(IValue(at::zeros({1, 2})));
    while (!runs_.empty()) AnswerDoubled();
    EXPECT_EQ(AnswerTo(base + 2), 2 * (base + 2));
  }
  for (const float value : {100, 101, 102, 103}) ASSERT_TRUE(Add(value).ok());
  EXPECT_EQ(runs_.size(), 3U);
  while (!runs_.empty()) {
    EXPECT_EQ(runs_.front().x().size(0), 1);
    AnswerDoubled();
  }
  EXPECT_THAT(servable_->statistics->snapshot().batch_failures, ElementsAre(0, 0, Batcher::kMostWrongAnswers, 0));
}

TEST_F(BatcherTest, ABatchIsPaddedToTheNextAllowedSizeAndTheRowsAreNobodys) {
  settings().allowed = {1, 4, 8};
  ASSERT_TRUE(Add(1).ok());
  for (const float value : {2, 3}) ASSERT_TRUE(Add(value).ok());
  AnswerDoubled();
  EXPECT_THAT(InRun(), ElementsAre(2, 3, 3, 3));
  AnswerDoubled();
  EXPECT_EQ(AnswerTo(2), 4);
  EXPECT_EQ(AnswerTo(3), 6);
  EXPECT_EQ(answers_.at(3)->toTensor().size(0), 1);
  EXPECT_EQ(executions_.at(2).rows, 2);
  EXPECT_EQ(servable_->statistics->snapshot().padding_rows, 2U);
}

TEST_F(BatcherTest, ACallOfAnIdleModelIsPaddedTooWhereItsSizeIsNotAllowed) {
  settings().allowed = {1, 4, 8};
  ASSERT_TRUE(Add(1, {}, /*rows=*/3).ok());
  EXPECT_THAT(InRun(), ElementsAre(1, 1, 1, 1));
  AnswerDoubled();
  EXPECT_EQ(answers_.at(1)->toTensor().size(0), 3);
  ASSERT_TRUE(Add(2, {}, /*rows=*/9).ok()) << "more than a batch may have";
  EXPECT_EQ(InRun().size(), 9U);
  AnswerDoubled();
  EXPECT_EQ(servable_->statistics->snapshot().padding_rows, 1U);
}

TEST_F(BatcherTest, APaddedCallWhoseRunFailsIsRunAsItIs) {
  settings().allowed = {4, 8};
  ASSERT_TRUE(Add(1).ok());
  Answer(absl::InternalError("no"));
  EXPECT_THAT(InRun(), ElementsAre(1));
  AnswerDoubled();
  EXPECT_EQ(AnswerTo(1), 2);
  EXPECT_EQ(servable_->statistics->snapshot().padding_rows, 0U);
}

TEST_F(BatcherTest, AHostThatPadsAllowsPowersOfTwoIfTheConfigurationDoesNotSay) {
  settings().max_rows = 6;
  host_.pads = true;
  ASSERT_TRUE(Add(1, {}, /*rows=*/3).ok());
  EXPECT_EQ(InRun().size(), 4U);
  AnswerDoubled();
  ASSERT_TRUE(Add(2, {}, /*rows=*/5).ok());
  EXPECT_EQ(InRun().size(), 6U);
  AnswerDoubled();
}

TEST_F(BatcherTest, AHostThatPadsLeavesBatchesOfAnySizeAsTheyAre) {
  settings().allowed.emplace();
  host_.pads = true;
  ASSERT_TRUE(Add(1, {}, /*rows=*/3).ok());
  EXPECT_EQ(InRun().size(), 3U);
  AnswerDoubled();
}

TEST_F(BatcherTest, ABatchHoldsItsVersion) {
  ASSERT_TRUE(Add(0).ok());
  for (const float value : {1, 2}) ASSERT_TRUE(Add(value).ok());
  servable_->queue = std::exchange(batcher_, nullptr);
  const std::weak_ptr<Servable> version = std::exchange(servable_, nullptr);
  EXPECT_FALSE(version.expired());
  AnswerDoubled();
  EXPECT_FALSE(version.expired());
  AnswerDoubled();
  EXPECT_TRUE(version.expired());
  EXPECT_EQ(AnswerTo(2), 4);
}

// A model of which one call is run at a time, each for 10 ms, and that has answered some while others waited.
class OverloadTest : public BatcherTest {
 protected:
  void Begin(std::chrono::milliseconds wait_bound) {
    settings().max_rows = 1;
    settings().runs = 1;
    host_.wait_bound = wait_bound;
    for (const float value : {1, 2, 3, 4}) ASSERT_TRUE(Add(value).ok());
    for (int i = 0; i < 3; ++i) AnswerAfterARun();
    order_.clear();
  }
  void AnswerAfterARun() {
    host_.Pass(std::chrono::milliseconds(10));
    AnswerDoubled();
  }
  void AnswerAll() {
    while (!runs_.empty()) AnswerAfterARun();
  }
};

TEST_F(OverloadTest, ACallIsRefusedAtOnceThatWouldWaitBeyondItsDeadlineAndIsToldWhenToCome) {
  Begin({});
  for (const float value : {5, 6, 7}) ASSERT_TRUE(Add(value).ok());
  const auto refused = Add(8, WithDeadline(host_.time + std::chrono::milliseconds(35)));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("3 wait, which takes 40 ms; the request's deadline is in 35 ms"));
  EXPECT_EQ(RetryAfterOf(refused.status()), std::chrono::milliseconds(30));
  EXPECT_TRUE(Add(9, WithDeadline(host_.time + std::chrono::milliseconds(55))).ok());
  AnswerAll();
  EXPECT_THAT(order_, ElementsAre(4, 5, 6, 7, 9));
}

TEST_F(OverloadTest, TheFirstThatWaitsIsLetInWhateverTookLongBefore) {
  Begin({});
  EXPECT_TRUE(Add(5, WithDeadline(host_.time + std::chrono::milliseconds(5))).ok());
  host_.Pass(std::chrono::milliseconds(5));
  EXPECT_EQ(answers_.at(5).status().code(), absl::StatusCode::kDeadlineExceeded);
  AnswerAll();
}

TEST_F(OverloadTest, ACallWhoseDeadlineComesBeforeARunCouldEndIsNotRun) {
  Begin({});
  ASSERT_TRUE(Add(5, WithDeadline(host_.time + std::chrono::milliseconds(15))).ok());
  ASSERT_TRUE(Add(6).ok());
  AnswerAfterARun();
  EXPECT_EQ(answers_.at(5).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(InRun(), ElementsAre(6));
  AnswerAll();
}

TEST_F(OverloadTest, NoMoreWaitThanAreRunWithinTheBound) {
  Begin(std::chrono::milliseconds(45));
  int accepted = 0;
  while (Add(static_cast<float>(10 + accepted)).ok()) ++accepted;
  EXPECT_EQ(accepted, 4);
  AnswerAll();
}

TEST_F(OverloadTest, AQueueThatIsNeverEmptyIsKeptShort) {
  Begin(std::chrono::milliseconds(300));
  float value = 10;
  const auto fill = [&] {
    int accepted = 0;
    while (Add(value++).ok()) ++accepted;
    return accepted;
  };
  for (int i = 0; i < 15; ++i) ASSERT_TRUE(Add(value++).ok());
  for (int i = 0; i < 30; ++i) {
    AnswerAfterARun();
    ASSERT_TRUE(Add(value++).ok());
  }
  AnswerAfterARun();
  EXPECT_EQ(fill(), 0);
  for (int i = 0; i < 12; ++i) AnswerAfterARun();
  EXPECT_EQ(fill(), 1) << "beside the two that wait";
  // Once it has been empty, a burst may wait again.
  AnswerAll();
  ASSERT_TRUE(Add(value++).ok());
  EXPECT_EQ(fill(), 30);
  AnswerAll();
}

TEST_F(OverloadTest, ACallThatWaitedForTheBoundIsRefusedThen) {
  Begin(std::chrono::milliseconds(300));
  ASSERT_TRUE(Add(5).ok());
  host_.Pass(std::chrono::milliseconds(299));
  EXPECT_FALSE(answers_.contains(5));
  host_.Pass(std::chrono::milliseconds(1));
  EXPECT_EQ(answers_.at(5).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(RetryAfterOf(answers_.at(5).status()), std::chrono::milliseconds(300));
  AnswerAll();
}

TEST_F(OverloadTest, AFullQueueSaysWhenItWillBeEmpty) {
  settings().levels[0].max_waiting = 3;
  Begin({});
  for (const float value : {5, 6, 7}) ASSERT_TRUE(Add(value).ok());
  const auto refused = Add(8);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("is full: 3 requests wait"));
  EXPECT_EQ(RetryAfterOf(refused.status()), std::chrono::milliseconds(30));
  AnswerAll();
}

}  // namespace
}  // namespace hearth::server
