#include "jit/frequent_calls.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include <string>

#include "jit/analysis/exact_shape.h"

namespace hearth {
namespace {

// What is made for arguments like these; null if nothing is.
std::optional<Arguments> MadeLike(const Arguments& arguments, const std::string& schema) {
  const c10::FunctionSchema parsed = torch::jit::parseSchema(schema);
  std::vector<ArgumentFacts> facts = ArgumentSpec::Of(arguments)->Facts();
  if (const auto shape = ExactShape::Of(arguments)) shape->AddTo(facts);
  const auto make = ArgumentMaker(facts, parsed.arguments());
  return make ? std::optional((*make)()) : std::nullopt;
}

TEST(FrequentCalls, WhatIsMadeHasTheSpecAndShapeOfTheCall) {
  c10::List<at::Tensor> list;
  list.push_back(at::ones({2}));
  c10::Dict<std::string, at::Tensor> dict;
  dict.insert("a", at::ones({1, 5}, at::kLong));
  const Arguments call = {at::ones({2, 3}), at::ones({4}, at::kLong), list, dict,
                          c10::ivalue::Tuple::create({at::ones({}, at::kBool), c10::IValue()})};
  const auto made =
      MadeLike(call, "f(Tensor a, Tensor b, Tensor[] c, Dict(str, Tensor) d, (Tensor, Tensor?) e) -> Tensor");
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(*ArgumentSpec::Of(*made), *ArgumentSpec::Of(call));
  EXPECT_EQ(*ExactShape::Of(*made), *ExactShape::Of(call));
  EXPECT_EQ(made->at(1).toTensor().sum().item<int64_t>(), 0);
  EXPECT_GT(made->at(0).toTensor().sum().item<double>(), 0);
}

TEST(FrequentCalls, ValuesThatNobodyKnowsAreTheDefaultsOrNothingIsMade) {
  const Arguments call = {at::ones({2}), c10::IValue(7)};
  EXPECT_FALSE(MadeLike(call, "f(Tensor a, int b) -> Tensor").has_value());
  const auto made = MadeLike(call, "f(Tensor a, int b=3) -> Tensor");
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->at(1).toInt(), 3);
  EXPECT_FALSE(MadeLike({at::ones({2, 3}).t()}, "f(Tensor a) -> Tensor").has_value());
}

}  // namespace
}  // namespace hearth
