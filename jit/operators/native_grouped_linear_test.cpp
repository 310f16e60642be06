// hearth::grouped_linear against the convolution of single pixels that it stands for.
#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "jit/operators/native_testing.h"

namespace hearth {
namespace {

at::Tensor GroupedLinear(const at::Tensor& input, const at::Tensor& weight) {
  return CallNative("hearth::grouped_linear", {input, weight});
}

// The convolution in groups of an image of as many rows as the input, in float64.
at::Tensor Expected(const at::Tensor& input, const at::Tensor& weight) {
  const at::Tensor image = input.to(at::kDouble).reshape({1, -1, 1, input.size(-1)}).permute({0, 3, 1, 2});
  const at::Tensor kernel =
      weight.to(at::kDouble).transpose(1, 2).reshape({weight.size(0) * weight.size(2), weight.size(1), 1, 1});
  constexpr std::array<int64_t, 2> one = {1, 1}, zero = {0, 0};
  const at::Tensor convolved = at::conv2d(image, kernel, std::nullopt, one, zero, one, weight.size(0));
  std::vector<int64_t> sizes = input.sizes().vec();
  sizes.back() = kernel.size(0);
  return convolved.permute({0, 2, 3, 1}).reshape(sizes);
}

void ExpectConvolution(const at::Tensor& input, const at::Tensor& weight) {
  const at::Tensor expected = Expected(input, weight), result = GroupedLinear(input, weight);
  EXPECT_EQ(result.scalar_type(), input.scalar_type());
  EXPECT_EQ(result.sizes(), expected.sizes());
  EXPECT_TRUE(result.is_contiguous());
  const at::ScalarType dtype = input.scalar_type();
  const double tolerance = dtype == at::kBFloat16 ? 5e-2 : dtype == at::kHalf ? 1e-2 : 1e-4;
  EXPECT_TRUE(at::allclose(result.to(at::kDouble), expected, tolerance, tolerance))
      << dtype << " " << input.sizes() << " " << weight.sizes();
}

TEST(GroupedLinearTest, IsAConvolutionOfSinglePixelsInGroups) {
  at::manual_seed(0);
  struct Layer {
    int64_t groups, inputs, outputs;
  };
  for (const auto& [groups, inputs, outputs] :
       {Layer{4, 192, 192}, Layer{2, 16, 8}, Layer{3, 8, 24}, Layer{1, 8, 16}, Layer{5, 3, 2}, Layer{8, 1, 1}}) {
    for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
      const at::Tensor weight = at::randn({groups, inputs, outputs}).to(dtype);
      for (const int64_t rows : {1, 7, 128}) ExpectConvolution(at::randn({rows, groups * inputs}).to(dtype), weight);
    }
  }
}

TEST(GroupedLinearTest, TakesAnyRanksAndPartsOfTensors) {
  const at::Tensor weight = at::randn({3, 8, 16});
  ExpectConvolution(at::randn({24}), weight);
  ExpectConvolution(at::randn({2, 3, 1, 2, 24}), weight);
  ExpectConvolution(at::randn({4, 5, 60}).slice(2, 7, 31), weight);
  ExpectConvolution(at::randn({4, 9, 24}).slice(1, 2, 7), weight);
  ExpectConvolution(at::randn({4, 9, 30}).slice(1, 2, 7).slice(2, 0, 24), weight);
  ExpectConvolution(at::randn({4, 5, 24}).transpose(0, 1), weight);
  ExpectConvolution(at::randn({1, 5, 24}).expand({3, 5, 24}), weight);
  ExpectConvolution(at::randn({4, 24, 5}).transpose(1, 2), weight);
  ExpectConvolution(at::randn({2, 24, 5, 3}).contiguous(at::MemoryFormat::ChannelsLast).permute({0, 2, 3, 1}), weight);
}

TEST(GroupedLinearTest, OfNothingIsEmptyOrZero) {
  using Sizes = std::vector<int64_t>;
  const at::Tensor weight = at::randn({3, 8, 16});
  EXPECT_EQ(GroupedLinear(at::randn({0, 24}), weight).sizes(), (Sizes{0, 48}));
  EXPECT_EQ(GroupedLinear(at::randn({2, 0, 5, 24}), weight).sizes(), (Sizes{2, 0, 5, 48}));
  EXPECT_EQ(GroupedLinear(at::randn({2, 24}), at::randn({3, 8, 0})).sizes(), (Sizes{2, 0}));
  EXPECT_EQ(GroupedLinear(at::randn({2, 0}), at::randn({0, 8, 4})).sizes(), (Sizes{2, 0}));
  EXPECT_TRUE(at::equal(GroupedLinear(at::randn({2, 0}), at::randn({3, 0, 4})), at::zeros({2, 12})));
}

TEST(GroupedLinearTest, OtherOperandsRaise) {
  const at::Tensor input = at::randn({2, 24}), weight = at::randn({3, 8, 16});
  EXPECT_NO_THROW(GroupedLinear(input, weight));
  try {
    GroupedLinear(at::randn({2, 25}), weight);
    ADD_FAILURE() << "a column too many";
  } catch (const c10::Error& error) {
    EXPECT_STREQ(error.what_without_backtrace(),
                 "expected a weight [groups, inputs, outputs] and an input [..., groups * inputs], found sizes "
                 "[3, 8, 16] and [2, 25]");
  }
  EXPECT_ANY_THROW(GroupedLinear(input, weight[0]));
  EXPECT_ANY_THROW(GroupedLinear(input, weight.unsqueeze(0)));
  EXPECT_ANY_THROW(GroupedLinear(at::randn({}), weight));
  EXPECT_ANY_THROW(GroupedLinear(input.to(at::kHalf), weight));
}

}  // namespace
}  // namespace hearth
