#include "jit/support/tensors_in.h"

#include <ATen/core/Dict.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <vector>

namespace hearth {
namespace {

using c10::IValue;

IValue Nested(int64_t number, int64_t size) {
  c10::impl::GenericDict dict(c10::StringType::get(), c10::AnyType::get());
  dict.insert("a", at::ones({size}));
  dict.insert("n", number);
  c10::impl::GenericList list(c10::TensorType::get());
  list.push_back(at::ones({size + 1}));
  list.push_back(at::Tensor());
  return c10::ivalue::Tuple::create({dict, list, 1.5, "text"});
}

std::vector<int64_t> SizesOf(const IValue& value) {
  std::vector<int64_t> sizes;
  MapTensors(value, [&](const at::Tensor& tensor) {
    sizes.push_back(tensor.defined() ? tensor.numel() : -1);
    return tensor;
  });
  return sizes;
}

TEST(TensorsInTest, TensorsOfContainersAreReplacedInOrderAndTheRestStays) {
  const IValue value = Nested(3, 2);
  EXPECT_EQ(SizesOf(value), (std::vector<int64_t>{2, 3, -1}));
  const IValue mapped = MapTensors(value, [](const at::Tensor&) { return at::zeros({7}); });
  EXPECT_EQ(SizesOf(mapped), (std::vector<int64_t>{7, 7, 7}));
  EXPECT_EQ(SizesOf(value), (std::vector<int64_t>{2, 3, -1}));
  const auto& elements = mapped.toTupleRef().elements();
  EXPECT_EQ(elements[0].toGenericDict().at("n").toInt(), 3);
  EXPECT_EQ(elements[2].toDouble(), 1.5);
  EXPECT_EQ(elements[3].toStringRef(), "text");
}

TEST(TensorsInTest, ValuesThatAreAlikeAreVisitedPairByPair) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  const auto note = [&](const at::Tensor& a, const at::Tensor& b) {
    pairs.emplace_back(a.defined() ? a.numel() : -1, b.defined() ? b.numel() : -1);
  };
  EXPECT_TRUE(VisitPairs(Nested(3, 2), Nested(3, 5), note));
  EXPECT_EQ(pairs, (std::vector<std::pair<int64_t, int64_t>>{{2, 5}, {3, 6}, {-1, -1}}));
}

TEST(TensorsInTest, WhatIsNoTensorMustBeTheSame) {
  const auto alike = [](const IValue& a, const IValue& b) {
    return VisitPairs(a, b, [](const at::Tensor&, const at::Tensor&) {});
  };
  EXPECT_FALSE(alike(Nested(3, 2), Nested(4, 2)));
  EXPECT_TRUE(alike(IValue(), IValue()));
  EXPECT_TRUE(alike(2.0, 2.0));
  EXPECT_FALSE(alike(2.0, 2));
  EXPECT_FALSE(alike(true, false));
  EXPECT_FALSE(alike("a", "b"));
  EXPECT_FALSE(alike(IValue(), at::ones({1})));
  EXPECT_FALSE(alike(c10::ivalue::Tuple::create({1}), c10::ivalue::Tuple::create({1, 2})));
  EXPECT_FALSE(alike(std::vector<int64_t>{1}, std::vector<int64_t>{1, 2}));
}

}  // namespace
}  // namespace hearth
