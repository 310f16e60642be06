// Native operators that copy, against LibTorch's.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <c10/util/StringUtil.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "jit/operators/native_testing.h"

namespace hearth {
namespace {

using Numbers = std::vector<int64_t>;

void ExpectSame(const at::Tensor& result, const at::Tensor& expected, const std::string& what) {
  ASSERT_EQ(result.sizes(), expected.sizes()) << what;
  EXPECT_EQ(result.strides(), expected.strides()) << what;
  EXPECT_TRUE(result.equal(expected)) << what;
}

// Of four dimensions: as LibTorch makes them, in other orders, with parts of their memory left out, repeated, and of
// other numbers.
std::vector<at::Tensor> Tensors() {
  std::vector<at::Tensor> tensors;
  for (const Numbers& sizes :
       std::vector<Numbers>{{2, 6, 8, 10}, {1, 48, 33, 17}, {3, 1, 1, 4}, {1, 2, 70, 40000 / 35}}) {
    const at::Tensor plain = at::randn(sizes);
    tensors.insert(
        tensors.end(),
        {plain, plain.contiguous(at::MemoryFormat::ChannelsLast), plain.permute({0, 2, 3, 1}),
         plain.permute({3, 1, 0, 2}), plain.transpose(1, 2), plain.slice(3, 1, 3), plain.slice(3, 0, 10, 2),
         plain.slice(1, 0, 1).expand({sizes[0], 5, sizes[2], sizes[3]}), plain.to(at::kDouble).transpose(2, 3)});
  }
  tensors.push_back(at::randn({2, 0, 3, 4}).transpose(1, 2));
  return tensors;
}

std::string Text(const at::Tensor& tensor) { return c10::str(tensor.sizes(), " strides ", tensor.strides()); }

TEST(CopiesTest, AReshapeGivesTheNumbersInTheirOrder) {
  for (const at::Tensor& tensor : Tensors()) {
    const int64_t last = tensor.size(3);
    for (const Numbers& shape :
         std::vector<Numbers>{{-1}, {tensor.size(0), -1}, {-1, last}, {tensor.size(1) * tensor.size(0), -1, 1}}) {
      if (tensor.numel() == 0 && shape.size() > 1) continue;
      ExpectSame(CallNative("aten::reshape", {tensor, shape}), tensor.reshape(shape), Text(tensor));
    }
  }
}

TEST(CopiesTest, AReshapeToSizesThatDoNotFitRaises) {
  const at::Tensor tensor = at::randn({4, 6}).t();
  for (const Numbers& shape : std::vector<Numbers>{{5, 5}, {-1, 5}, {-1, -1}, {-2, 12}, {0, -1}, {}})
    EXPECT_THROW(CallNative("aten::reshape", {tensor, shape}), c10::Error) << shape;
}

TEST(CopiesTest, AReshapeThatCanBeAViewIsOne) {
  const at::Tensor tensor = at::randn({4, 6});
  EXPECT_TRUE(CallNative("aten::reshape", {tensor, Numbers{24}}).is_alias_of(tensor));
  EXPECT_FALSE(CallNative("aten::reshape", {tensor.t(), Numbers{24}}).is_alias_of(tensor));
}

TEST(CopiesTest, ACopyLiesAsItIsAskedTo) {
  for (const at::Tensor& tensor : Tensors()) {
    for (const at::MemoryFormat format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
      const c10::IValue as_number(static_cast<int64_t>(format));
      ExpectSame(CallNative("aten::contiguous", {tensor, as_number}), tensor.contiguous(format), Text(tensor));
      ExpectSame(CallNative("aten::clone", {tensor, as_number}), tensor.clone(format), Text(tensor));
    }
    ExpectSame(CallNative("aten::clone", {tensor, {}}), tensor.clone(), Text(tensor));
    EXPECT_FALSE(CallNative("aten::clone", {tensor, {}}).is_alias_of(tensor));
  }
}

TEST(CopiesTest, WhatIsRolledOutComesInAgain) {
  for (const at::Tensor& tensor : Tensors()) {
    for (const auto& [shifts, dims] : std::vector<std::pair<Numbers, Numbers>>{{{1}, {1}},
                                                                               {{-3, 5}, {1, -1}},
                                                                               {{0, 2}, {2, 0}},
                                                                               {{1, 1}, {2, 2}},
                                                                               {{100, -100, 7}, {3, 2, 0}},
                                                                               {{3}, {}}}) {
      const std::string what = c10::str(Text(tensor), " by ", shifts, " along ", dims);
      ExpectSame(CallNative("aten::roll", {tensor, shifts, dims}), at::roll(tensor, shifts, dims), what);
    }
  }
}

TEST(CopiesTest, PaddingIsAroundTheNumbers) {
  for (const at::Tensor& tensor : Tensors()) {
    for (const Numbers& pads :
         std::vector<Numbers>{{1, 2}, {0, 0, 3, 0}, {0, 0}, {}, {-1, 1}, {1, 1, 1, 1, 2, 0, 0, 1}}) {
      const std::string what = c10::str(Text(tensor), " by ", pads);
      ExpectSame(CallNative("aten::pad", {tensor, pads, "constant", 2.5}), at::pad(tensor, pads, "constant", 2.5),
                 what);
      ExpectSame(CallNative("aten::constant_pad_nd", {tensor, pads, 3}), at::constant_pad_nd(tensor, pads, 3), what);
    }
    EXPECT_THROW(CallNative("aten::pad", {tensor, Numbers{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, "constant", {}}), c10::Error);
  }
  const at::Tensor tensor = at::randn({3, 4, 5});
  ExpectSame(CallNative("aten::pad", {tensor, Numbers{1, 2}, "reflect", {}}), at::pad(tensor, {1, 2}, "reflect"), "");
  for (const char* const name : {"aten::pad", "aten::constant_pad_nd"}) {
    std::vector<c10::IValue> arguments = {tensor, Numbers{1, 2}};
    if (std::string(name) == "aten::pad") arguments.emplace_back("constant");
    arguments.emplace_back(1e300);  // no float
    EXPECT_ANY_THROW(CallNative(name, arguments)) << name;
  }
}

TEST(CopiesTest, StackedTensorsLieAsLibTorchHasThem) {
  for (const at::Tensor& tensor : Tensors()) {
    for (int64_t dim = -5; dim < 5; ++dim) {
      const c10::List<at::Tensor> parts({tensor, tensor.neg(), tensor.contiguous()});
      ExpectSame(CallNative("aten::stack", {parts, dim}), at::stack(parts.vec(), dim), Text(tensor));
    }
  }
}

}  // namespace
}  // namespace hearth
