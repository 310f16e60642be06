// Calls with more rows than a batch may have, and calls of different lengths.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "server/scheduling/batcher_testing.h"

namespace hearth::server {
namespace {

using c10::IValue;
using std::chrono::microseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// ---- Requests with more rows than a batch ----

class SplittingTest : public BatcherTest {
 protected:
  SplittingTest() {
    settings().max_rows = 4;
    settings().splits = true;
    settings().runs = 2;
  }
  // A row for each of these values.
  absl::StatusOr<std::shared_ptr<CallHandle>> AddRows(float name, int64_t rows, DispatchedCall call = {}) {
    return Add(name, std::move(call), rows);
  }
};

TEST_F(SplittingTest, ACallWithTooManyRowsIsRunInPartsAndAnsweredInOrder) {
  int started = 0;
  DispatchedCall call;
  call.on_start = [&] { ++started; };
  ASSERT_TRUE(AddRows(1, 10, std::move(call)).ok());
  ASSERT_EQ(runs_.size(), 2U);
  EXPECT_EQ(runs_[0].x().size(0), 4);
  EXPECT_EQ(started, 1) << "the call begins once";
  EXPECT_EQ(servable_->statistics->snapshot().pending, 0);
  // The second part ends first.
  std::swap(runs_[0], runs_[1]);
  Answer(IValue(at::full({4, 2}, 20.0F)));
  ASSERT_EQ(runs_.size(), 2U);
  EXPECT_EQ(runs_[1].x().size(0), 2);
  Answer(IValue(at::full({4, 2}, 10.0F)));
  EXPECT_THAT(order_, IsEmpty());
  Answer(IValue(at::full({2, 2}, 30.0F)));
  ASSERT_THAT(order_, ElementsAre(1));
  const at::Tensor whole = answers_.at(1)->toTensor();
  EXPECT_TRUE(
      whole.select(1, 0).equal(at::tensor({10.0F, 10.0F, 10.0F, 10.0F, 20.0F, 20.0F, 20.0F, 20.0F, 30.0F, 30.0F})));
  EXPECT_THAT(executions_.at(1).further_rows, ElementsAre(4, 4, 2)) << "each run is counted";
  EXPECT_FALSE(executions_.at(1).counts);
  EXPECT_EQ(host_.calls_began, 2);
}

TEST_F(SplittingTest, TheLastPartIsRunWithOthers) {
  settings().runs = 1;
  ASSERT_TRUE(Add(0).ok());
  ASSERT_TRUE(AddRows(1, 6).ok());
  ASSERT_TRUE(Add(2).ok());
  AnswerDoubled();
  EXPECT_THAT(InRun(), ElementsAre(1, 1, 1, 1));
  AnswerDoubled();
  EXPECT_THAT(InRun(), ElementsAre(1, 1, 2));
  AnswerDoubled();
  EXPECT_THAT(order_, ElementsAre(0, 1, 2));
  EXPECT_EQ(answers_.at(1)->toTensor().size(0), 6);
  EXPECT_EQ(AnswerTo(1), 2);
}

TEST_F(SplittingTest, APartThatFailsFailsTheCallAndEndsTheOthers) {
  ASSERT_TRUE(AddRows(1, 12).ok());
  ASSERT_EQ(runs_.size(), 2U);
  const auto other = std::static_pointer_cast<Cancellable>(runs_[1].handle);
  Answer(absl::InternalError("the model raised"));
  EXPECT_TRUE(other->cancelled);
  EXPECT_THAT(order_, IsEmpty()) << "a part is still under way";
  Answer(absl::CancelledError("cancelled"));
  EXPECT_THAT(runs_, IsEmpty()) << "what had not begun is not run";
  ASSERT_THAT(order_, ElementsAre(1));
  EXPECT_EQ(answers_.at(1).status(), absl::InternalError("the model raised"));
}

TEST_F(SplittingTest, ACancelledCallEndsWithAllItsParts) {
  auto handle = AddRows(1, 12);
  ASSERT_TRUE(handle.ok());
  ASSERT_EQ(runs_.size(), 2U);
  (*handle)->Cancel();
  for (const RunUnderWay& run : runs_) EXPECT_TRUE(std::static_pointer_cast<Cancellable>(run.handle)->cancelled);
  Answer(absl::CancelledError("cancelled"));
  Answer(absl::CancelledError("cancelled"));
  EXPECT_EQ(answers_.at(1).status().code(), absl::StatusCode::kCancelled);
}

TEST_F(SplittingTest, TheDeadlineIsThatOfAllParts) {
  settings().runs = 1;
  ASSERT_TRUE(Add(0).ok());
  ASSERT_TRUE(AddRows(1, 12, WithDeadline(host_.time + microseconds(100))).ok());
  host_.Pass(microseconds(100));
  ASSERT_THAT(order_, ElementsAre(1));
  EXPECT_EQ(answers_.at(1).status().code(), absl::StatusCode::kDeadlineExceeded);
  AnswerDoubled();
  EXPECT_THAT(runs_, IsEmpty());
}

TEST_F(SplittingTest, AnswersWithOtherRowsCannotBeJoined) {
  ASSERT_TRUE(AddRows(1, 6).ok());
  Answer(IValue(at::zeros({4, 2})));
  Answer(IValue(at::zeros({1, 2})));
  EXPECT_EQ(answers_.at(1).status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(answers_.at(1).status().message()), HasSubstr("has not that part's 2 rows"));
}

TEST_F(SplittingTest, PartsAreBounded) {
  const auto refused = AddRows(1, 4 * kMostPartsOfRequest + 1);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("a batch of 1025; the model takes at most 1024"));
  EXPECT_EQ(host_.calls_began, 0);
}

TEST_F(SplittingTest, PartsAreLetInTogetherAsOneCall) {
  settings().levels[0].max_waiting = 1;
  settings().runs = 1;
  ASSERT_TRUE(Add(0).ok());
  ASSERT_TRUE(AddRows(1, 12).ok());
  EXPECT_EQ(AddRows(2, 12).status().code(), absl::StatusCode::kResourceExhausted);
  while (!runs_.empty()) AnswerDoubled();
  EXPECT_THAT(order_, ElementsAre(0, 1));
}

TEST_F(SplittingTest, ACallIsRunByItselfWhereTheSettingsDoNotSplit) {
  settings().splits = false;
  ASSERT_TRUE(AddRows(1, 10).ok());
  EXPECT_EQ(runs_.front().x().size(0), 10);
  AnswerDoubled();
}

// ---- Lengths ----

class PaddingTest : public BatcherTest {
 protected:
  PaddingTest() {
    settings().padding.inputs = {{.name = "x", .dimension = 1, .value = -1}};
    settings().padding.outputs = {{.name = "y", .dimension = 1, .input = 0}};
    settings().padding.most = 4;
  }
  absl::StatusOr<std::shared_ptr<CallHandle>> AddLength(float value, int64_t length, int64_t rows = 1) {
    return Add(value, {}, rows, length);
  }
  at::Tensor AnswerOf(float value) { return answers_.at(value)->toTensor(); }
};

TEST_F(PaddingTest, RequestsOfOtherLengthsAreFilledUpAndTheirAnswersCut) {
  ASSERT_TRUE(Add(0).ok());
  ASSERT_TRUE(AddLength(1, 3).ok());
  ASSERT_TRUE(AddLength(2, 5, 2).ok());
  AnswerDoubled();
  ASSERT_EQ(runs_.size(), 1U);
  EXPECT_TRUE(runs_[0].x()[0].equal(at::tensor({1.0F, 1.0F, 1.0F, -1.0F, -1.0F})));
  EXPECT_TRUE(runs_[0].x()[2].equal(at::full({5}, 2.0F)));
  AnswerDoubled();
  EXPECT_TRUE(AnswerOf(1).equal(at::full({1, 3}, 2.0F)));
  EXPECT_TRUE(AnswerOf(2).equal(at::full({2, 5}, 4.0F)));
}

TEST_F(PaddingTest, WithoutTheSettingLengthsDoNotFit) {
  settings().padding = {};
  ASSERT_TRUE(Add(0).ok());
  ASSERT_TRUE(AddLength(1, 3).ok());
  ASSERT_TRUE(AddLength(2, 5).ok());
  AnswerDoubled();
  EXPECT_EQ(runs_.front().x().size(0), 1);
  AnswerDoubled();
  AnswerDoubled();
}

TEST_F(PaddingTest, LengthsAreMultiplesWhereThatIsAskedFor) {
  settings().padding.multiple = 4;
  ASSERT_TRUE(AddLength(1, 5).ok());
  EXPECT_EQ(runs_.front().x().size(1), 8) << "a lone request's, too";
  AnswerDoubled();
  EXPECT_TRUE(AnswerOf(1).equal(at::full({1, 5}, 2.0F)));
  ASSERT_TRUE(AddLength(2, 8).ok());
  EXPECT_EQ(runs_.front().x().size(1), 8);
  AnswerDoubled();
}

TEST_F(PaddingTest, NoMoreOfABatchIsPaddingThanMayBe) {
  settings().padding.most = 1.5;
  ASSERT_TRUE(Add(0).ok());
  ASSERT_TRUE(AddLength(1, 10).ok());
  ASSERT_TRUE(AddLength(2, 100).ok());
  ASSERT_TRUE(AddLength(3, 12).ok());
  ASSERT_TRUE(AddLength(4, 90).ok());
  AnswerDoubled();
  EXPECT_THAT(InRun(), ElementsAre(1, 3));
  AnswerDoubled();
  EXPECT_THAT(InRun(), ElementsAre(2, 4));
  AnswerDoubled();
  EXPECT_EQ(AnswerOf(4).size(1), 90);
}

TEST_F(PaddingTest, WhatIsPaddingIsCountedInAllDimensionsTogether) {
  BatchPadding padding = settings().padding;
  padding.inputs.push_back({.name = "x", .dimension = 2});
  const auto member = [](int64_t height, int64_t width) {
    const auto made = std::make_shared<BatchMember>();
    made->key.rows = 1;
    made->key.lengths = {height, width};
    return made;
  };
  BatchDraft draft;
  draft.Add(member(1, 100000), 1, padding);
  EXPECT_FALSE(draft.TakesLengths(*member(100000, 1), padding)) << "each dimension alone would be half padding";
  EXPECT_TRUE(draft.TakesLengths(*member(2, 100000), padding));
  BatchDraft small;
  padding.multiple = 64;
  padding.most = 1.5;
  small.Add(member(1, 1), 1, padding);
  EXPECT_TRUE(small.TakesLengths(*member(64, 3), padding)) << "each is padded to as much alone";
  EXPECT_FALSE(small.TakesLengths(*member(1, 640), padding));
}

TEST_F(PaddingTest, AnswersWithOtherLengthsAreNotCutAndTheCallsRunOneByOne) {
  ASSERT_TRUE(Add(0).ok());
  ASSERT_TRUE(AddLength(1, 3).ok());
  ASSERT_TRUE(AddLength(2, 5).ok());
  AnswerDoubled();
  Answer(IValue(at::zeros({2, 4})));
  EXPECT_EQ(runs_.front().x().sizes(), c10::IntArrayRef({1, 3}));
  AnswerDoubled();
  AnswerDoubled();
  EXPECT_EQ(AnswerOf(2).size(1), 5);
  EXPECT_EQ(servable_->statistics->snapshot().batch_failures[static_cast<int>(BatchFailure::kRows)], 1U);
}

}  // namespace
}  // namespace hearth::server
