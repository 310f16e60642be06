#include "jit/analysis/exact_shape.h"

#include <ATen/core/Dict.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "jit/analysis/value_facts.h"

namespace hearth {
namespace {

using c10::IValue;

TEST(ExactShapeTest, FitsArgumentsOfTheSameSizesAndStridesAlone) {
  const std::vector<IValue> made_of = {at::zeros({2, 3}), 5, at::zeros({4})};
  const ExactShape shape = ExactShape::Of(made_of).value();
  EXPECT_TRUE(shape.Fits(made_of));
  EXPECT_TRUE(shape.Fits(std::vector<IValue>{at::zeros({2, 3}), 6, at::zeros({4})}));
  EXPECT_FALSE(shape.Fits(std::vector<IValue>{at::zeros({2, 3}), 5, at::zeros({5})}));
  EXPECT_FALSE(shape.Fits(std::vector<IValue>{at::zeros({3, 2}).t(), 5, at::zeros({4})})) << "other strides";
  EXPECT_FALSE(shape.Fits(std::vector<IValue>{at::zeros({2, 3}), 5}));
  EXPECT_EQ(shape.ToString(), "[2, 3], [4]");
}

TEST(ExactShapeTest, TensorsInContainersHaveTheirSizesInTheFactsOfTheSpec) {
  c10::List<at::Tensor> list({at::zeros({2, 3}), at::zeros({5})});
  c10::Dict<std::string, at::Tensor> dict;
  dict.insert("mask", at::zeros({7}));
  const std::vector<IValue> arguments = {c10::ivalue::Tuple::create({IValue(), list}), at::Tensor(), dict};
  std::vector<ArgumentFacts> facts = ArgumentSpec::Of(arguments)->Facts();
  ExactShape::Of(arguments)->AddTo(facts);
  const ArgumentFacts& in_list = facts[0].elements[1];
  EXPECT_EQ(FactsOfArgument(in_list.elements[0]).sizes, KnownSizes({2, 3}));
  EXPECT_EQ(FactsOfArgument(in_list.elements[1]).sizes, KnownSizes({5}));
  EXPECT_EQ(FactsOfArgument(facts[2].elements[0]).sizes, KnownSizes({7}));
}

TEST(ExactShapeTest, WhereNoTensorHasSizesThereIsNoShape) {
  EXPECT_FALSE(ExactShape::Of(std::vector<IValue>{1, "text", at::Tensor()}));
  EXPECT_FALSE(ExactShape::Of(std::vector<IValue>{at::zeros({2, 2}).to_sparse()}));
}

}  // namespace
}  // namespace hearth
