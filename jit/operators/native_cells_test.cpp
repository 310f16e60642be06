#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "jit/operators/registry.h"

namespace hearth {
namespace {

using Arguments = std::vector<c10::IValue>;

// That of LibTorch, and ours.
std::pair<at::Tensor, at::Tensor> CallBoth(const Arguments& arguments) {
  const Operator* op = OperatorRegistry::Global().Find(c10::Symbol::fromQualString("aten::gru_cell"), "");
  torch::jit::Stack stack = arguments;
  op->Run(stack);
  std::vector<const c10::IValue*> pointers;
  for (const c10::IValue& argument : arguments) pointers.push_back(&argument);
  c10::IValue result;
  op->native()({pointers.data(), pointers.size()}, &result);
  return {stack.back().toTensor(), result.toTensor()};
}

void ExpectAlike(const Arguments& arguments) {
  const auto [expected, found] = CallBoth(arguments);
  EXPECT_EQ(found.sizes(), expected.sizes());
  EXPECT_EQ(found.strides(), expected.strides());
  EXPECT_EQ(found.scalar_type(), expected.scalar_type());
  EXPECT_TRUE(found.allclose(expected, 1e-5, 1e-5)) << arguments[0].toTensor().sizes() << found << expected;
}

Arguments Cell(int64_t rows, int64_t inputs, int64_t width, at::ScalarType dtype = at::kFloat) {
  return {at::randn({rows, inputs}, dtype),     at::randn({rows, width}, dtype), at::randn({3 * width, inputs}, dtype),
          at::randn({3 * width, width}, dtype), at::randn({3 * width}, dtype),   at::randn({3 * width}, dtype)};
}

TEST(GruCellTest, ResultsAreLibTorchsButForTheLastBits) {
  for (const int64_t rows : {1, 2, 5, 32}) {
    for (const int64_t inputs : {1, 7, 48}) {
      for (const int64_t width : {1, 2, 3, 8, 17, 32, 100}) ExpectAlike(Cell(rows, inputs, width));
    }
  }
}

TEST(GruCellTest, WhatIsNotPlainGoesLibTorchsWay) {
  ExpectAlike(Cell(3, 4, 5, at::kDouble));
  Arguments without_bias = Cell(3, 4, 5);
  without_bias[4] = without_bias[5] = c10::IValue();
  ExpectAlike(without_bias);
  Arguments strided = Cell(3, 4, 5);
  strided[0] = at::randn({4, 3}).t();
  strided[1] = at::randn({3, 10}).slice(1, 0, 10, 2);
  strided[3] = at::randn({5, 15}).t();
  ExpectAlike(strided);
  Arguments none = Cell(0, 4, 5);
  ExpectAlike(none);
  Arguments recorded = Cell(3, 4, 5);
  recorded[2].toTensor().requires_grad_();
  EXPECT_TRUE(CallBoth(recorded).second.requires_grad());
}

TEST(GruCellTest, SizesThatDoNotFitAreRefused) {
  for (const size_t wrong : {0, 1, 2, 3, 4}) {
    Arguments arguments = Cell(3, 4, 5);
    arguments[wrong] = at::ones({7, 6});
    EXPECT_ANY_THROW(CallBoth(arguments)) << wrong;
  }
}

TEST(GruCellTest, TheStateIsNotWritten) {
  const Arguments arguments = Cell(2, 4, 8);
  const at::Tensor before = arguments[1].toTensor().clone();
  CallBoth(arguments);
  EXPECT_TRUE(before.equal(arguments[1].toTensor()));
}

}  // namespace
}  // namespace hearth
