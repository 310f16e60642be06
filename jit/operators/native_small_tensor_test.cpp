#include <ATen/ops/add.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "jit/operators/registry.h"

namespace hearth {
namespace {

const Operator& FindNative(const char* name, const char* overload) {
  const Operator* op = OperatorRegistry::Global().Find(c10::Symbol::fromQualString(name), overload);
  EXPECT_NE(op, nullptr) << name;
  EXPECT_NE(op->native(), nullptr) << name;
  return *op;
}

at::Tensor CallNativeForm(const Operator& op, const std::vector<c10::IValue>& arguments) {
  std::vector<const c10::IValue*> pointers;
  for (const c10::IValue& argument : arguments) pointers.push_back(&argument);
  c10::IValue result;
  op.native()({pointers.data()}, &result);
  return result.toTensor();
}

at::Tensor CallBoxedForm(const Operator& op, torch::jit::Stack arguments) {
  op.Run(arguments);
  return arguments.front().toTensor();
}

bool SameTensorBits(const at::Tensor& a, const at::Tensor& b) {
  return a.dtype() == b.dtype() && a.sizes() == b.sizes() && a.strides() == b.strides() &&
         std::memcmp(a.contiguous().const_data_ptr(), b.contiguous().const_data_ptr(), a.nbytes()) == 0;
}

struct Case {
  const char* name;
  const char* overload;
  bool has_alpha;
};

class SmallTensorTest : public testing::TestWithParam<Case> {
 protected:
  // Also what the fast way must leave to LibTorch: large, strided, broadcast, another dtype.
  static std::vector<at::Tensor> Operands() {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    return {at::randn({1}),
            at::randn({}),
            at::randn({3, 4}),
            at::randn({100}),
            at::randn({3, 341}),
            at::randn({5, 300}),
            at::randn({4, 3}).t(),
            at::tensor({0.0f, -0.0f, kInf, -kInf, std::numeric_limits<float>::quiet_NaN(), 1e-45f, 3e38f}),
            at::ones({3}, at::kLong),
            at::randn({2}, at::kDouble)};
  }
};

TEST_P(SmallTensorTest, ResultsAreLibTorchsToTheLastBit) {
  const Operator& op = FindNative(GetParam().name, GetParam().overload);
  const bool with_tensor = std::string(GetParam().overload) == "Tensor";
  for (const at::Tensor& self : Operands()) {
    std::vector<c10::IValue> others = {2, -3, 0, 0.1, 1e-40, 1e300, true};
    if (with_tensor) others = {self, at::randn(self.sizes()), at::randn({1}), at::full({}, 0.5)};
    for (const c10::IValue& other : others) {
      for (int64_t alpha : {1, 2}) {
        std::vector<c10::IValue> arguments = {self, other};
        if (GetParam().has_alpha) arguments.emplace_back(alpha);
        at::Tensor expected;
        try {
          expected = CallBoxedForm(op, {arguments.begin(), arguments.end()});
        } catch (const c10::Error&) {
          EXPECT_ANY_THROW(CallNativeForm(op, arguments));
          continue;
        }
        EXPECT_TRUE(SameTensorBits(CallNativeForm(op, arguments), expected)) << self << other << " alpha " << alpha;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, SmallTensorTest,
                         testing::Values(Case{"aten::add", "Scalar", true}, Case{"aten::sub", "Scalar", true},
                                         Case{"aten::mul", "Scalar", false}, Case{"aten::div", "Scalar", false},
                                         Case{"aten::add", "Tensor", true}, Case{"aten::sub", "Tensor", true},
                                         Case{"aten::mul", "Tensor", false}, Case{"aten::div", "Tensor", false}));

// Where the result shall be: memory of its own, an operand's, another dtype, other sizes, strides, a part of an
// operand.
TEST(SmallTensorIntoTest, ResultsAreLibTorchsWhereverTheyShallBe) {
  for (const auto& [name, has_alpha] : {std::pair("aten::add", true), std::pair("aten::sub", true),
                                        std::pair("aten::mul", false), std::pair("aten::div", false)}) {
    const Operator& op = FindNative(name, "out");
    const at::Tensor numbers = at::randn({40});
    for (int place = 0; place < 7; ++place) {
      for (const int64_t alpha : {1, 2}) {
        const auto call = [&](bool boxed) {
          const at::Tensor base = numbers.clone();
          const at::Tensor self = base.slice(0, 0, 12).view({3, 4}), other = base.slice(0, 20, 32).view({3, 4});
          const std::vector<at::Tensor> places = {at::zeros({3, 4}),
                                                  self,
                                                  other,
                                                  at::zeros({3, 4}, at::kDouble),
                                                  at::zeros({0}),
                                                  at::zeros({4, 3}).t(),
                                                  base.slice(0, 4, 16).view({3, 4})};
          std::vector<c10::IValue> arguments = {self, other};
          if (has_alpha) arguments.emplace_back(alpha);
          const at::Tensor& memory = places[static_cast<size_t>(place)];
          arguments.emplace_back(memory);
          const at::Tensor result =
              boxed ? CallBoxedForm(op, {arguments.begin(), arguments.end()}) : CallNativeForm(op, arguments);
          EXPECT_TRUE(result.is_same(memory));
          return std::pair(result, base);
        };
        if (place == 6) {
          EXPECT_ANY_THROW(call(true));
          EXPECT_ANY_THROW(call(false));
          continue;
        }
        const auto [expected, expected_base] = call(true);
        const auto [result, base] = call(false);
        EXPECT_TRUE(SameTensorBits(result, expected)) << name << place;
        EXPECT_TRUE(SameTensorBits(base, expected_base)) << name << place;
      }
    }
  }
}

TEST(SmallTensorReluTest, KeepsNanAndNegativeZeroAsLibTorchDoes) {
  const Operator& relu = FindNative("aten::relu", "");
  const at::Tensor values = at::tensor({-1.0f, -0.0f, 0.0f, 2.0f, std::numeric_limits<float>::quiet_NaN()});
  EXPECT_TRUE(SameTensorBits(CallNativeForm(relu, {values}), CallBoxedForm(relu, {values})));
}

TEST(SmallTensorReuseTest, AnOperandThatDiesLendsItsMemory) {
  const Operator& op = FindNative("aten::mul", "Scalar");
  c10::IValue reg = at::full({4}, 3.0f);
  const void* memory = reg.toTensor().const_data_ptr();
  const c10::IValue two = 2;
  const c10::IValue* arguments[] = {&reg, &two};
  op.native()({arguments}, &reg);
  EXPECT_EQ(reg.toTensor().const_data_ptr(), memory);
  EXPECT_TRUE(SameTensorBits(reg.toTensor(), at::full({4}, 6.0f)));
}

TEST(SmallTensorReuseTest, AnOperandThatSomebodyElseHoldsIsNotWritten) {
  const Operator& op = FindNative("aten::mul", "Scalar");
  const c10::IValue two = 2;
  const at::Tensor held = at::full({4}, 3.0f);
  c10::IValue reg = held;
  const c10::IValue* arguments[] = {&reg, &two};
  op.native()({arguments}, &reg);
  EXPECT_TRUE(SameTensorBits(held, at::full({4}, 3.0f)));

  c10::IValue view = at::full({4}, 3.0f);
  const at::Tensor alias = view.toTensor().view({2, 2});
  arguments[0] = &view;
  op.native()({arguments}, &view);
  EXPECT_TRUE(SameTensorBits(alias, at::full({2, 2}, 3.0f)));
}

}  // namespace
}  // namespace hearth
