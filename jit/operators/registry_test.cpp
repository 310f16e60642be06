#include "jit/operators/registry.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>

namespace hearth {
namespace {

c10::Symbol Name(const char* name) { return c10::Symbol::fromQualString(name); }

TEST(OperatorRegistryTest, CandidatesComeInLibTorchsOrder) {
  const auto& expected = torch::jit::getAllOperatorsFor(Name("aten::add"));
  const auto candidates = OperatorRegistry::Global().Candidates(Name("aten::add"));
  ASSERT_EQ(candidates.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(&candidates[i]->schema(), &expected[i]->schema());
}

TEST(OperatorRegistryTest, AnUnknownNameHasNoCandidates) {
  EXPECT_TRUE(OperatorRegistry::Global().Candidates(Name("aten::no_such_operator")).empty());
  EXPECT_EQ(OperatorRegistry::Global().Find(Name("aten::add"), "no_such_overload"), nullptr);
}

TEST(OperatorRegistryTest, RunCallsTheOperatorThroughAStack) {
  const Operator* add = OperatorRegistry::Global().Find(Name("aten::add"), "Tensor");
  ASSERT_NE(add, nullptr);
  torch::jit::Stack stack = {at::ones({2}), at::ones({2}), 2};
  add->Run(stack);
  ASSERT_EQ(stack.size(), 1u);
  EXPECT_TRUE(stack[0].toTensor().equal(at::ones({2}) * 3));
}

TEST(OperatorRegistryTest, ResultsThatAreArgumentsOutliveTheStack) {
  const Operator* sort = OperatorRegistry::Global().Find(Name("aten::sort"), "values");
  ASSERT_NE(sort, nullptr);
  torch::jit::Stack stack = {at::arange(100), -1, true, at::empty({0}, at::kLong), at::empty({0}, at::kLong)};
  sort->Run(stack);
  ASSERT_EQ(stack.size(), 2u);
  for (const c10::IValue& result : stack) {
    EXPECT_EQ(result.toTensor().use_count(), 1u);
    EXPECT_TRUE(result.toTensor().equal(at::arange(99, -1, -1)));
  }
}

TEST(OperatorRegistryTest, EffectsAreWhatSchemasAnnounce) {
  const auto effects = [](const char* name, const char* overload) {
    return OperatorRegistry::Global().Find(Name(name), overload)->announced_effects();
  };
  EXPECT_FALSE(effects("aten::add", "Tensor").writes);
  EXPECT_FALSE(effects("aten::add", "Tensor").has_side_effect);
  EXPECT_TRUE(effects("aten::add_", "Tensor").writes);
  EXPECT_TRUE(effects("aten::rand", "").nondeterministic);
  EXPECT_TRUE(effects("aten::view", "").may_alias);
  EXPECT_TRUE(effects("aten::append", "t").writes);
}

TEST(OperatorRegistryTest, ARefreshKeepsOperatorsThatWereHandedOut) {
  OperatorRegistry& registry = OperatorRegistry::Global();
  const Operator* before = registry.Find(Name("aten::mul"), "Tensor");
  registry.Refresh();
  EXPECT_EQ(registry.Find(Name("aten::mul"), "Tensor"), before);
}

TEST(OperatorRegistryTest, AMisspeltNameFindsItsNeighbours) {
  const auto similar = OperatorRegistry::Global().Similar(Name("aten::softmaxx"));
  EXPECT_NE(std::find(similar.begin(), similar.end(), "aten::softmax"), similar.end());
}

}  // namespace
}  // namespace hearth
