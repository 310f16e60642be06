#include "server/api/sequences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/repository/fake_runtime.h"

namespace hearth::server {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

class SequencesTest : public ::testing::Test {
 protected:
  ServablePtr NewVersion(int64_t version) {
    auto servable = std::make_unique<Servable>();
    servable->name = "m";
    servable->version = version;
    servable->model = std::make_shared<FakeModel>("m", &gate_);
    return servable;
  }
  absl::StatusOr<Sequences::Place> Join(const std::string& name, bool starts = false, bool ends = false,
                                        std::chrono::microseconds idle = hours(1)) {
    return sequences_.Join(servable_, "", {.name = name, .starts = starts, .ends = ends}, idle);
  }
  static std::vector<WireTensor> State(const std::string& text) {
    WireTensor state;
    state.datatype = BytesDatatype();
    state.shape = {1};
    state.strings = {text};
    return {state};
  }

  Gate gate_;
  ServablePtr servable_ = NewVersion(1);
  Sequences sequences_;
};

TEST_F(SequencesTest, ASequenceBeginsWithARequestThatSaysSoAndEndsWithOne) {
  EXPECT_THAT(std::string(Join("7").status().message()), HasSubstr("must specify the START flag"));
  const auto first = Join("7", /*starts=*/true);
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(sequences_.HasTurn(*first));
  sequences_.Keep(*first, State("kept"));
  sequences_.Leave(*first);
  const auto second = Join("7", false, /*ends=*/true);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(sequences_.States(*second)[0].strings[0], "kept");
  sequences_.Leave(*second);
  EXPECT_EQ(Join("7").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(sequences_.size(), 0);
}

TEST_F(SequencesTest, RequestsHaveTheirTurnInTheOrderInWhichTheyJoined) {
  std::vector<Sequences::Place> places;
  std::vector<int> order;
  for (int i = 0; i < 4; ++i) places.push_back(*Join("7", i == 0));
  for (int i = 3; i >= 0; --i) sequences_.Await(places[i], [&order, i] { order.push_back(i); });
  EXPECT_EQ(order, (std::vector<int>{0}));
  // One that gave up while it waited has no turn.
  sequences_.Leave(places[2]);
  sequences_.Leave(places[0]);
  EXPECT_EQ(order, (std::vector<int>{0, 1}));
  sequences_.Leave(places[1]);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 3}));
  EXPECT_TRUE(sequences_.HasTurn(places[3]));
}

TEST_F(SequencesTest, WhoLeftBeforeItWaitedHasNoTurn) {
  const auto first = Join("7", true);
  const auto second = Join("7");
  const auto fail = [] { ADD_FAILURE() << "it has left"; };
  sequences_.Leave(*second);
  sequences_.Await(*second, fail);
  sequences_.Leave(*first);
  sequences_.Await(*second, fail);
}

TEST_F(SequencesTest, WhatComesAfterTheEndHearsOfIt) {
  const auto last = Join("7", true, true);
  const auto late = Join("7");
  ASSERT_TRUE(late.ok());
  sequences_.Leave(*last);
  EXPECT_TRUE(sequences_.HasTurn(*late));
  EXPECT_TRUE(sequences_.HasEnded(*late));
}

TEST_F(SequencesTest, WhoGivesUpBeforeItsTurnEndsTheSequenceAllTheSame) {
  const auto first = Join("7", true);
  const auto second = Join("7");
  const auto last = Join("7", false, true);
  const auto late = Join("7");
  sequences_.Leave(*last);
  sequences_.Leave(*first);
  EXPECT_TRUE(sequences_.HasTurn(*second));
  EXPECT_FALSE(sequences_.HasEnded(*second));
  sequences_.Leave(*second);
  EXPECT_TRUE(sequences_.HasTurn(*late));
  EXPECT_TRUE(sequences_.HasEnded(*late));
  EXPECT_EQ(sequences_.size(), 0);
}

TEST_F(SequencesTest, NothingIsKeptOfOneThatHasEnded) {
  std::weak_ptr<Sequences::Sequence> ended, replaced;
  {
    const auto first = Join("7", true);
    ended = first->sequence;
    sequences_.Leave(*first);
    sequences_.Leave(*Join("7", false, true));
    const auto other = Join("8", true);
    replaced = other->sequence;
    sequences_.Leave(*other);
    sequences_.Leave(*Join("8", true));
  }
  EXPECT_TRUE(ended.expired());
  EXPECT_TRUE(replaced.expired());
}

TEST_F(SequencesTest, TheRequestsThatWaitAreBoundedForAllSequencesOfAModel) {
  std::vector<Sequences::Place> places;
  for (size_t i = 0; i * (kMostWaitingInSequence - 1) < kMostWaitingInSequences; ++i) {
    places.push_back(*Join(std::to_string(i + 1), true));
    for (size_t j = 1; j < kMostWaitingInSequence; ++j) {
      auto place = Join(std::to_string(i + 1));
      if (!place.ok()) break;
      places.push_back(*std::move(place));
    }
  }
  const auto refused = Join("1").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  // One that need not wait is let in.
  EXPECT_TRUE(Join("another", true).ok());
  const size_t sequences = (kMostWaitingInSequences + kMostWaitingInSequence - 2) / (kMostWaitingInSequence - 1);
  EXPECT_EQ(places.size(), kMostWaitingInSequences + sequences);
  const std::string last = std::to_string(sequences);
  EXPECT_THAT(std::string(Join(last).status().message()), HasSubstr("4096 requests that wait"));
  sequences_.Leave(places[0]);
  EXPECT_TRUE(Join(last).ok());
}

TEST_F(SequencesTest, ANewBeginningTakesThePlaceOfWhatHadNotEnded) {
  const auto old = Join("7", true);
  sequences_.Keep(*old, State("old"));
  servable_ = NewVersion(2);
  const auto anew = Join("7", true);
  ASSERT_TRUE(anew.ok());
  EXPECT_EQ(Sequences::servable(*old)->version, 1);
  EXPECT_EQ(Sequences::servable(*anew)->version, 2);
  EXPECT_TRUE(sequences_.States(*anew).empty());
  sequences_.Leave(*old);
  sequences_.Leave(*anew);
  EXPECT_EQ(sequences_.size(), 1);
}

TEST_F(SequencesTest, ASequenceKeepsItsVersionAndLetsGoOfItAtItsEnd) {
  const std::weak_ptr<const Servable> version = servable_;
  sequences_.Leave(*Join("7", true));
  servable_ = NewVersion(2);
  EXPECT_FALSE(version.expired());
  {
    const auto last = Join("7", false, true);
    EXPECT_EQ(Sequences::servable(*last)->version, 1);
    sequences_.Leave(*last);
  }
  EXPECT_TRUE(version.expired());
}

TEST_F(SequencesTest, OneWithoutRequestsForTooLongEnds) {
  sequences_.Leave(*Join("7", true, false, milliseconds(1)));
  sequences_.Leave(*Join("8", true, false, hours(1)));
  while (sequences_.size() > 1) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_FALSE(Join("7").ok());
  EXPECT_TRUE(Join("8").ok());
}

TEST_F(SequencesTest, OneThatHasARequestDoesNotEndOfIdleness) {
  const auto slow = Join("7", true, false, milliseconds(1));
  std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(sequences_.size(), 1);
  sequences_.Leave(*slow);
  while (sequences_.size() > 0) std::this_thread::sleep_for(milliseconds(1));
}

TEST_F(SequencesTest, ThereAreNoMoreThanMayBe) {
  for (size_t i = 0; i < kMostSequences; ++i) sequences_.Leave(*Join(std::to_string(i + 1), true));
  EXPECT_EQ(Join("one more", true).status().code(), absl::StatusCode::kResourceExhausted);
  sequences_.Leave(*Join("1", false, true));
  const auto place = Join("one more", true);
  ASSERT_TRUE(place.ok());
  for (size_t i = 1; i < kMostWaitingInSequence; ++i) ASSERT_TRUE(Join("one more").ok());
  EXPECT_EQ(Join("one more").status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace hearth::server
