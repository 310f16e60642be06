#include "jit/analysis/exact_shape.h"

#include <ATen/core/Dict.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <limits>

#include "jit/analysis/argument_facts.h"
#include "jit/definitions/value_facts.h"

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

TEST(ExactShapeTest, IsRestoredFromItsNumbersWhereTheSpecCanHaveThem) {
  const std::vector<IValue> arguments = {c10::List<at::Tensor>({at::zeros({2, 1}), at::zeros({0})}), 5, at::zeros({})};
  const ArgumentSpec spec = ArgumentSpec::Of(arguments).value();
  const ExactShape shape = ExactShape::Of(arguments).value();
  const std::vector<int64_t> numbers(shape.numbers().begin(), shape.numbers().end());
  EXPECT_EQ(numbers, (std::vector<int64_t>{2, 2, 1, 1, 1, 1, 0, 1, 0}));
  EXPECT_EQ(ExactShape::Restore(numbers, spec), shape);
  const auto with = [&](size_t place, int64_t number) {
    std::vector<int64_t> changed = numbers;
    changed[place] = number;
    return ExactShape::Restore(changed, spec);
  };
  EXPECT_TRUE(with(1, 7));
  EXPECT_FALSE(with(0, 1)) << "another rank";
  EXPECT_FALSE(with(0, int64_t{1} << 62));
  EXPECT_FALSE(with(1, 1)) << "a size that is 1 in other calls alone";
  EXPECT_FALSE(with(1, 0));
  EXPECT_FALSE(with(1, -1));
  EXPECT_FALSE(with(2, 2)) << "a size that is always 1";
  EXPECT_FALSE(with(6, 2)) << "a size that is always 0";
  EXPECT_FALSE(with(3, -1));
  EXPECT_FALSE(with(1, std::numeric_limits<int64_t>::max()));
  EXPECT_FALSE(ExactShape::Restore({}, spec));
  EXPECT_FALSE(ExactShape::Restore(std::span(numbers).first(numbers.size() - 1), spec));
  EXPECT_FALSE(ExactShape::Restore(std::vector<int64_t>(numbers.size() + 1, 0), spec));
}

TEST(ExactShapeTest, WhereNoTensorHasSizesThereIsNoShape) {
  EXPECT_FALSE(ExactShape::Of(std::vector<IValue>{1, "text", at::Tensor()}));
  EXPECT_FALSE(ExactShape::Of(std::vector<IValue>{at::zeros({2, 2}).to_sparse()}));
}

}  // namespace
}  // namespace hearth
