#include "jit/kernels/winograd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "jit/kernels/target.h"
#include "jit/kernels/test_support.h"

namespace hearth::kernels {
namespace {

constexpr float kWinogradSlope = 0.25f;

struct WinogradCase {
  int64_t images, channels, out_channels;
  ConvolutionSide height, width;
  ConvolutionSide depth = {};
  int64_t groups = 1, merged = 1;

  std::string Text() const {
    std::string text = std::to_string(images) + " images of " + std::to_string(channels) + " channels, " +
                       std::to_string(out_channels) + " given, in groups: " + std::to_string(groups) +
                       ", merged: " + std::to_string(merged);
    for (const ConvolutionSide& side : {depth, height, width}) text += ", " + SideText(side);
    return text;
  }
};

class WinogradComputation {
 public:
  // The input is some channels of images with `others` more, which are NaN.
  WinogradComputation(const WinogradCase& a, WinogradTile tile, int64_t others = 0)
      : case_(a), tile_(tile), pixel_(a.channels + others) {
    NormalNumbers normal(1);
    input_ = normal.MakePixels(a.images * a.depth.input * a.height.input * a.width.input, a.channels, others);
    const int64_t row = a.width.kernel, slice = a.height.kernel * row, channel = a.depth.kernel * slice;
    const int64_t channels = a.channels / a.groups;
    kernels_ = normal.Make(a.out_channels * channels * channel);
    bias_ = normal.Make(a.out_channels);
    before_ = normal.Make(a.images * a.depth.result * a.height.result * a.width.result * a.out_channels);
    const WinogradKernels sizes{a.out_channels, channels,        a.groups,      a.merged,
                                a.depth.kernel, a.height.kernel, a.width.kernel};
    packed_.resize(static_cast<size_t>(sizes.PackedSize(tile)));
    PackWinogradKernels(tile, sizes, kernels_.data(), {channels * channel, channel, slice, row, 1}, packed_.data());
  }

  std::vector<float> Compute(int threads, int pieces, bool has_bias, bool adds, Activation activation) const {
    std::vector<float> result = before_;
    ImageConvolution convolution = BareConvolution(packed_, result);
    convolution.bias = has_bias ? bias_.data() : nullptr;
    convolution.adds = adds;
    convolution.activation = activation;
    convolution.slope = kWinogradSlope;
    EXPECT_TRUE(IsWinograd(convolution));
    EXPECT_LE(WinogradParts(tile_, convolution, threads, 1).count(), threads);
    const WinogradParts parts(tile_, convolution, threads, pieces);
    for (int64_t part = parts.count(); part-- > 0;) parts.Compute(part, part + 1);
    return result;
  }

  // Each element is near the sum of its products in double precision: of normal numbers that sum has about the size of
  // the root of their number, and errors of rounding grow with it.
  void ExpectRight(const std::vector<float>& result, bool has_bias, bool adds, Activation activation) const {
    const double products = static_cast<double>(case_.channels * case_.depth.kernel * 9);
    const double most = (tile_ == WinogradTile::kTwo ? 1e-5 : 2e-5) * (std::sqrt(products) + 1);
    const std::vector<double>& sums = Sums();
    size_t i = 0;
    ForEachResult([&](const Place& place) {
      double expected = sums[i];
      if (has_bias) expected += bias_[static_cast<size_t>(place.channel)];
      if (adds) expected += before_[i];
      if (activation == Activation::kLeakyRelu && expected <= 0) expected *= kWinogradSlope;
      if (activation == Activation::kSilu) expected /= 1 + std::exp(-expected);
      if (std::isfinite(expected)) {
        EXPECT_NEAR(result[i], expected, most) << place.Text();
      } else {
        EXPECT_EQ(std::isnan(result[i]), std::isnan(expected)) << place.Text();
        EXPECT_TRUE(std::isnan(expected) || result[i] == expected) << place.Text();
      }
      ++i;
    });
    EXPECT_EQ(i, result.size());
  }

  // Of the bare sums: the root of the mean of the squares of their errors.
  double ErrorOf(const std::vector<float>& result) const {
    const std::vector<double>& sums = Sums();
    double squares = 0;
    for (size_t i = 0; i < sums.size(); ++i) squares += (result[i] - sums[i]) * (result[i] - sums[i]);
    return std::sqrt(squares / static_cast<double>(sums.size()));
  }

  // By the kernel that computes every product; of images.
  std::vector<float> ComputeDirectly() const {
    const ImageKernels sizes{case_.out_channels, case_.channels, 1, case_.height.kernel, case_.width.kernel};
    const int64_t row = case_.width.kernel, channel = case_.height.kernel * row;
    std::vector<float> packed(static_cast<size_t>(sizes.PackedSize())), result = before_;
    PackImageKernels(sizes, kernels_.data(), case_.channels * channel, channel, row, 1, packed.data());
    const ImageConvolution convolution = BareConvolution(packed, result);
    const ImageConvolutionParts parts(convolution, 1, 1);
    parts.Compute(0, parts.count());
    return result;
  }

  float& InputAt(int64_t image, int64_t slice, int64_t row, int64_t column, int64_t channel) {
    return input_[IndexOf(image, slice, row, column, channel)];
  }

 private:
  struct Place {
    int64_t image, slice, row, column, channel;
    std::string Text() const {
      std::string text;
      for (const int64_t number : {image, slice, row, column, channel}) text += std::to_string(number) + " ";
      return text;
    }
  };

  // Without what follows the sums.
  ImageConvolution BareConvolution(const std::vector<float>& packed, std::vector<float>& result) const {
    return {.images = case_.images,
            .channels = case_.channels,
            .out_channels = case_.out_channels,
            .groups = case_.groups,
            .merged = case_.merged,
            .height = case_.height,
            .width = case_.width,
            .depth = case_.depth,
            .input = input_.data(),
            .input_stride = pixel_,
            .packed = packed.data(),
            .result = result.data()};
  }

  // Of the products, in double precision; computed when they are first asked for.
  const std::vector<double>& Sums() const {
    if (sums_.empty()) ForEachResult([&](const Place& place) { sums_.push_back(SumOf(place)); });
    return sums_;
  }

  template <typename Visit>
  void ForEachResult(const Visit& visit) const {
    for (int64_t image = 0; image < case_.images; ++image) {
      for (int64_t slice = 0; slice < case_.depth.result; ++slice) {
        for (int64_t row = 0; row < case_.height.result; ++row) {
          for (int64_t column = 0; column < case_.width.result; ++column) {
            for (int64_t out = 0; out < case_.out_channels; ++out) visit(Place{image, slice, row, column, out});
          }
        }
      }
    }
  }

  size_t IndexOf(int64_t image, int64_t slice, int64_t row, int64_t column, int64_t channel) const {
    const int64_t rows = (image * case_.depth.input + slice) * case_.height.input + row;
    return static_cast<size_t>((rows * case_.width.input + column) * pixel_ + channel);
  }

  double SumOf(const Place& place) const {
    const auto input_at = [](const ConvolutionSide& side, int64_t result, int64_t kernel) {
      const int64_t at = result * side.stride - side.padding + kernel * side.dilation;
      return at < side.input ? at : -1;
    };
    double sum = 0;
    const int64_t channels = case_.channels / case_.groups, group = place.channel / (case_.out_channels / case_.groups);
    const float* kernel =
        kernels_.data() + place.channel * channels * case_.depth.kernel * case_.height.kernel * case_.width.kernel;
    for (int64_t c = group * channels; c < (group + 1) * channels; ++c) {
      for (int64_t kz = 0; kz < case_.depth.kernel; ++kz) {
        for (int64_t ky = 0; ky < case_.height.kernel; ++ky) {
          for (int64_t kx = 0; kx < case_.width.kernel; ++kx, ++kernel) {
            const int64_t z = input_at(case_.depth, place.slice, kz), y = input_at(case_.height, place.row, ky),
                          x = input_at(case_.width, place.column, kx);
            if (z >= 0 && y >= 0 && x >= 0) sum += double(*kernel) * input_[IndexOf(place.image, z, y, x, c)];
          }
        }
      }
    }
    return sum;
  }

  const WinogradCase case_;
  const WinogradTile tile_;
  const int64_t pixel_;
  std::vector<float> input_, kernels_, bias_, before_, packed_;
  mutable std::vector<double> sums_;
};

class WinogradTest : public testing::TestWithParam<WinogradTile> {
 protected:
  void SetUp() override {
    if (!HasVectors()) GTEST_SKIP() << "this processor has neither AVX-512 nor AVX2";
  }
};

std::vector<WinogradCase> WinogradCases() {
  std::vector<WinogradCase> cases;
  for (const int64_t size : {1, 2, 3, 4, 5, 8, 9, 14}) {
    for (const int64_t padding : {0, 1, 2}) {
      if (size + 2 * padding < 3) continue;
      const ConvolutionSide side = Side(size, 3, 1, padding);
      for (const int64_t channels : {1, 16, 35}) cases.push_back({2, channels, channels + 5, side, side});
      cases.push_back({2, 9, 20, Side(size, 1, 1, 0), side});
      cases.push_back({2, 9, 20, side, Side(5, 1, 1, padding)});
    }
  }
  cases.push_back({1, 64, 64, Side(23, 3, 1, 1), Side(50, 3, 1, 0)});  // of several blocks
  cases.push_back({3, 512, 40, Side(7, 3, 1, 1), Side(7, 3, 1, 1)});   // whose sums would lie in the same lines
  cases.push_back({1, 1500, 20, Side(5, 3, 1, 1), Side(6, 3, 1, 1)});  // of a long inner size
  cases.push_back({1, 300, 20, Side(1, 1, 1, 0), Side(150, 3, 1, 1)});
  cases.push_back({0, 8, 8, Side(4, 3, 1, 1), Side(4, 3, 1, 1)});
  cases.push_back({2, 36, 75, Side(9, 3, 1, 1), Side(8, 3, 1, 1), {}, 3});
  cases.push_back({2, 32, 32, Side(9, 3, 1, 1), Side(8, 3, 1, 1), {}, 8, 4});
  cases.push_back({1, 24, 72, Side(9, 3, 1, 1), Side(1, 1, 1, 0), Side(3, 3, 1, 1), 6, 3});
  cases.push_back({2, 20, 24, Side(7, 3, 1, 1), Side(6, 3, 1, 1), Side(4, 3, 1, 1)});
  cases.push_back({1, 20, 24, Side(7, 3, 1, 1), Side(6, 3, 1, 1), Side(4, 3, 1, 1), 2});
  cases.push_back({1, 8, 24, Side(7, 3, 1, 1), Side(6, 3, 1, 0), Side(9, 2, 2, 1, 3)});
  cases.push_back(
      {1, 8, 24, Side(7, 3, 1, 1), Side(6, 1, 1, 0), Side(2, 3, 1, 3)});  // with slices of nothing but padding
  return cases;
}

TEST_P(WinogradTest, IsTheSumOfTheProducts) {
  for (const WinogradCase& a : WinogradCases()) {
    SCOPED_TRACE(a.Text());
    const WinogradComputation computation(a, GetParam());
    computation.ExpectRight(computation.Compute(1, 1, true, false, Activation::kNone), true, false, Activation::kNone);
    if (HasFailure()) return;
  }
}

TEST_P(WinogradTest, WhatFollowsTheSumIsComputedToo) {
  const WinogradComputation computation({2, 24, 50, Side(7, 3, 1, 1), Side(20, 3, 1, 1)}, GetParam());
  for (const bool has_bias : {false, true}) {
    for (const bool adds : {false, true}) {
      for (const Activation activation : {Activation::kNone, Activation::kLeakyRelu, Activation::kSilu})
        computation.ExpectRight(computation.Compute(1, 1, has_bias, adds, activation), has_bias, adds, activation);
    }
  }
}

TEST_P(WinogradTest, AnyNumberOfThreadsAndPiecesIsRight) {
  for (const WinogradCase& a : WinogradCases()) {
    SCOPED_TRACE(a.Text());
    const WinogradComputation computation(a, GetParam());
    for (const auto& [threads, pieces] : {std::tuple(2, 1), std::tuple(3, 4), std::tuple(16, 1)}) {
      computation.ExpectRight(computation.Compute(threads, pieces, true, true, Activation::kLeakyRelu), true, true,
                              Activation::kLeakyRelu);
      if (HasFailure()) return;
    }
  }
}

TEST_P(WinogradTest, OtherChannelsBetweenTheImagesAreNotRead) {
  const WinogradComputation computation({2, 20, 20, Side(9, 3, 1, 1), Side(9, 3, 1, 1)}, GetParam(), 7);
  computation.ExpectRight(computation.Compute(1, 1, false, false, Activation::kNone), false, false, Activation::kNone);
}

TEST_P(WinogradTest, NumbersThatAreNotFiniteReachNoFurtherThanTheirKernels) {
  const std::vector<WinogradCase> cases = {{2, 20, 40, Side(9, 3, 1, 1), Side(11, 3, 1, 1), Side(2, 3, 1, 1)},
                                           {2, 20, 40, Side(9, 1, 1, 0), Side(11, 3, 1, 1), Side(2, 1, 1, 0)},
                                           {2, 20, 40, Side(9, 3, 1, 1), Side(11, 1, 1, 0), Side(2, 2, 1, 0)},
                                           {2, 20, 40, Side(9, 3, 1, 1), Side(11, 3, 1, 1), {}, 2},
                                           {2, 20, 60, Side(9, 3, 1, 1), Side(11, 3, 1, 1), {}, 4, 4}};
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  for (const WinogradCase& a : cases) {
    SCOPED_TRACE(a.Text());
    for (const float number : {kInfinite, -kInfinite, std::numeric_limits<float>::quiet_NaN()}) {
      for (const bool adds : {false, true}) {
        WinogradComputation computation(a, GetParam());
        computation.InputAt(1, 0, 4, 5, 3) = number;
        const std::vector<float> result = computation.Compute(1, 1, true, adds, Activation::kNone);
        computation.ExpectRight(result, true, adds, Activation::kNone);
        EXPECT_TRUE(std::ranges::any_of(result, [](float x) { return !std::isfinite(x); }));
      }
    }
  }
}

TEST_P(WinogradTest, ResultsOfNothingButPaddingAreTheBiasBesideInfinityToo) {
  WinogradComputation computation({1, 3, 5, Side(1, 3, 1, 3), Side(1, 3, 1, 3)}, GetParam());
  computation.InputAt(0, 0, 0, 0, 1) = std::numeric_limits<float>::infinity();
  for (const bool adds : {false, true})
    computation.ExpectRight(computation.Compute(1, 1, true, adds, Activation::kNone), true, adds, Activation::kNone);
}

// What docs/decisions/own_kernels.md says of rounding.
TEST_P(WinogradTest, TheErrorIsNotFarFromThatOfTheSumOfAllProducts) {
  const WinogradComputation computation({1, 64, 32, Side(28, 3, 1, 1), Side(28, 3, 1, 1)}, GetParam());
  const double error = computation.ErrorOf(computation.Compute(1, 1, false, false, Activation::kNone));
  const double direct = computation.ErrorOf(computation.ComputeDirectly());
  RecordProperty("times", std::to_string(error / direct));
  EXPECT_LT(error, (GetParam() == WinogradTile::kTwo ? 1 : 2.5) * direct) << error / direct;
}

TEST(WinogradKindTest, OthersHaveStridesOrDilations) {
  const ConvolutionSide three = Side(9, 3, 1, 1), one = Side(9, 1, 1, 0);
  EXPECT_TRUE(IsWinograd({.height = three, .width = three}));
  EXPECT_TRUE(IsWinograd({.height = one, .width = three}));
  EXPECT_TRUE(IsWinograd({.height = three, .width = one}));
  EXPECT_TRUE(IsWinograd({.height = three, .width = three, .depth = Side(9, 3, 2, 1)}));
  EXPECT_FALSE(IsWinograd({.height = one, .width = one}));
  EXPECT_FALSE(IsWinograd({.height = three, .width = Side(9, 3, 2, 1)}));
  EXPECT_FALSE(IsWinograd({.height = three, .width = Side(9, 1, 2, 0)}));
  EXPECT_FALSE(IsWinograd({.height = Side(9, 3, 1, 1, 2), .width = three}));
  EXPECT_FALSE(IsWinograd({.height = three, .width = Side(9, 5, 1, 2)}));
}

INSTANTIATE_TEST_SUITE_P(Tiles, WinogradTest, testing::Values(WinogradTile::kTwo, WinogradTile::kFour),
                         [](const auto& info) { return info.param == WinogradTile::kTwo ? "Two" : "Four"; });

}  // namespace
}  // namespace hearth::kernels
