#include "server/repository/observed_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace hearth::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A call's tensors with memory of their own.
struct Tensor {
  size_t number = 0;
  std::string name{};
  std::string datatype = "FP32";
  std::vector<int64_t> shape{};
};

class ObservedTensorsTest : public ::testing::Test {
 protected:
  // Whether the call brought news; they are recorded.
  bool Call(const std::vector<Tensor>& tensors) {
    std::vector<SeenTensor> seen;
    for (const Tensor& t : tensors) seen.push_back({t.number, t.name, FindDatatype(t.datatype), t.shape});
    const bool news = !observed_.Covers(seen);
    observed_.Record(std::vector<Sighting>(seen.begin(), seen.end()));
    // Once recorded, a call is known.
    EXPECT_TRUE(observed_.Covers(seen));
    return news;
  }
  std::vector<int64_t> Shape(size_t number = 0) { return observed_.FactsOf(number)->shape.value(); }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const auto& named : observed_.named()) names.push_back(named.name);
    return names;
  }

  ObservedTensors observed_{2};
};

TEST_F(ObservedTensorsTest, WhatWasNotSeenIsNotKnown) {
  EXPECT_FALSE(observed_.FactsOf(0).has_value());
  EXPECT_TRUE(Call({{.number = 0, .shape = {1, 3}}}));
  EXPECT_FALSE(observed_.FactsOf(1).has_value());
  EXPECT_THAT(Shape(), ElementsAre(1, 3));
}

TEST_F(ObservedTensorsTest, SizesThatVaryBecomeMinusOne) {
  EXPECT_TRUE(Call({{.shape = {1, 3, 8}}}));
  EXPECT_FALSE(Call({{.shape = {1, 3, 8}}}));
  EXPECT_TRUE(Call({{.shape = {4, 3, 8}}}));
  EXPECT_FALSE(Call({{.shape = {9, 3, 8}}}));
  EXPECT_THAT(Shape(), ElementsAre(-1, 3, 8));
}

TEST_F(ObservedTensorsTest, WhereTheNumberOfDimensionsVariesThereIsNoShape) {
  Call({{.shape = {1, 3}}});
  EXPECT_TRUE(Call({{.shape = {1}}}));
  EXPECT_FALSE(observed_.FactsOf(0)->shape.has_value());
  EXPECT_FALSE(Call({{.shape = {1, 2, 3}}}));
}

TEST_F(ObservedTensorsTest, AScalarIsAShapeToo) {
  Call({{.shape = {}}});
  EXPECT_TRUE(Shape().empty());
  EXPECT_FALSE(Call({{.shape = {}}}));
}

TEST_F(ObservedTensorsTest, MoreDimensionsThanAreKeptAreNoShape) {
  Call({{.shape = std::vector<int64_t>(ObservedTensors::kMostDimensions + 1, 1)}});
  EXPECT_FALSE(observed_.FactsOf(0)->shape.has_value());
}

TEST_F(ObservedTensorsTest, AllDatatypesAreKeptTheFirstFirst) {
  Call({{.datatype = "INT64", .shape = {1}}});
  EXPECT_TRUE(Call({{.datatype = "FP32", .shape = {1}}}));
  EXPECT_FALSE(Call({{.datatype = "FP32", .shape = {1}}}));
  EXPECT_THAT(observed_.FactsOf(0)->datatypes, ElementsAre(FindDatatype("INT64"), FindDatatype("FP32")));
}

TEST_F(ObservedTensorsTest, NamesAreKeptWhileCallsHaveTheSameInAnyOrder) {
  Call({{.shape = {1}}, {.number = 1, .name = "d.b", .shape = {2}}, {.number = 1, .name = "d.a", .shape = {3}}});
  EXPECT_THAT(Names(), ElementsAre("d.b", "d.a"));
  EXPECT_FALSE(Call({{.number = 1, .name = "d.a", .shape = {3}}, {.number = 1, .name = "d.b", .shape = {2}}}));
  EXPECT_TRUE(Call({{.number = 1, .name = "d.a", .shape = {4}}, {.number = 1, .name = "d.b", .shape = {2}}}));
  EXPECT_THAT(*observed_.named()[1].facts.shape, ElementsAre(-1));
  EXPECT_THAT(*observed_.named()[0].facts.shape, ElementsAre(2));
  // What stands for all of them covers all.
  EXPECT_THAT(Shape(1), ElementsAre(-1));
}

TEST_F(ObservedTensorsTest, NamesThatVaryAreForgottenForGood) {
  const std::vector<Tensor> one = {{.number = 1, .name = "0", .shape = {2}}};
  Call(one);
  EXPECT_TRUE(Call({{.number = 1, .name = "0", .shape = {2}}, {.number = 1, .name = "1", .shape = {2}}}));
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_FALSE(Call(one));
  EXPECT_THAT(Names(), IsEmpty());
  // Whatever clients call them from here on is no news and takes no memory.
  EXPECT_FALSE(Call({{.number = 1, .name = "other", .shape = {2}}}));
}

TEST_F(ObservedTensorsTest, NamesAreBoundedInNumberAndLength) {
  Call({{.number = 1, .name = std::string(ObservedTensors::kLongestName + 1, 'x'), .shape = {1}}});
  EXPECT_THAT(Names(), IsEmpty());
  ObservedTensors many(1);
  const std::string names(ObservedTensors::kMostNames + 1, 'x');
  std::vector<Sighting> call;
  for (size_t i = 0; i < names.size(); ++i) {
    call.emplace_back(SeenTensor{0, std::string_view(names).substr(i), FindDatatype("FP32"), {}});
  }
  many.Record(call);
  EXPECT_THAT(many.named(), IsEmpty());
}

TEST_F(ObservedTensorsTest, ThreadsMayRecordAndCompareAtOnce) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([this, thread] {
      for (int64_t i = 0; i < 2000; ++i) {
        const std::vector<int64_t> shape = {thread, i % 7, 5};
        const SeenTensor seen{1, "name", FindDatatype(i % 2 == 0 ? "FP32" : "INT64"), shape};
        if (!observed_.Covers({&seen, 1})) observed_.Record(std::vector<Sighting>{Sighting(seen)});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(Shape(1), ElementsAre(-1, -1, 5));
  EXPECT_THAT(Names(), ElementsAre("name"));
}

}  // namespace
}  // namespace hearth::server
