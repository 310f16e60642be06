#include "jit/kernels/winograd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "jit/kernels/target.h"
#include "jit/kernels/test_support.h"

namespace hearth::kernels {
namespace {

struct WinogradCase {
  int64_t images, channels, out_channels;
  ConvolutionSide height, width;

  std::string Text() const {
    return std::to_string(images) + " images of " + std::to_string(channels) + " channels, " +
           std::to_string(out_channels) + " given, " + SideText(height) + ", " + SideText(width);
  }
};

class WinogradComputation {
 public:
  // The input is some channels of images with `others` more, which are NaN.
  WinogradComputation(const WinogradCase& a, WinogradTile tile, int64_t others = 0)
      : case_(a), tile_(tile), pixel_(a.channels + others) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    const auto fill = [&](std::vector<float>& numbers, int64_t count) {
      numbers.resize(static_cast<size_t>(count));
      for (float& number : numbers) number = normal(random);
    };
    fill(input, a.images * a.height.input * a.width.input * pixel_);
    for (size_t i = 0; i < input.size(); ++i) {
      if (static_cast<int64_t>(i) % pixel_ >= a.channels) input[i] = std::numeric_limits<float>::quiet_NaN();
    }
    fill(kernels_, a.out_channels * a.channels * 9);
    fill(bias_, a.out_channels);
    fill(before_, a.images * a.height.result * a.width.result * a.out_channels);
    const ImageKernels sizes{a.out_channels, a.channels, 1, 3, 3};
    packed_.resize(static_cast<size_t>(WinogradPackedSize(tile, sizes)));
    PackWinogradKernels(tile, sizes, kernels_.data(), 9 * a.channels, 9, 3, 1, packed_.data());
    direct_.resize(static_cast<size_t>(sizes.PackedSize()));
    PackImageKernels(sizes, kernels_.data(), 9 * a.channels, 9, 3, 1, direct_.data());
  }

  std::vector<float> Compute(int threads, int pieces, bool has_bias, bool adds, Activation activation) const {
    std::vector<float> result = before_;
    const ImageConvolution convolution = Convolution(packed_, result, has_bias, adds, activation);
    EXPECT_TRUE(IsWinograd(convolution));
    EXPECT_LE(WinogradParts(tile_, convolution, threads, 1).count(), threads);
    const WinogradParts parts(tile_, convolution, threads, pieces);
    for (int64_t part = parts.count(); part-- > 0;) parts.Compute(part, part + 1);
    return result;
  }

  std::vector<float> ComputeDirectly(bool has_bias, bool adds, Activation activation) const {
    std::vector<float> result = before_;
    const ImageConvolution convolution = Convolution(direct_, result, has_bias, adds, activation);
    const ImageConvolutionParts parts(convolution, 1, 1);
    parts.Compute(0, parts.count());
    return result;
  }

  // Of normal numbers, sums of so many products have about this size, and errors of rounding grow with it.
  double SizeOfSums() const { return std::sqrt(9.0 * static_cast<double>(case_.channels)) + 1; }

  float& InputAt(int64_t image, int64_t row, int64_t column, int64_t channel) {
    const int64_t pixel = (image * case_.height.input + row) * case_.width.input + column;
    return input[static_cast<size_t>(pixel * pixel_ + channel)];
  }

  std::vector<float> input;

 private:
  ImageConvolution Convolution(const std::vector<float>& packed, std::vector<float>& result, bool has_bias, bool adds,
                               Activation activation) const {
    return {.images = case_.images,
            .channels = case_.channels,
            .out_channels = case_.out_channels,
            .height = case_.height,
            .width = case_.width,
            .input = input.data(),
            .input_stride = pixel_,
            .packed = packed.data(),
            .bias = has_bias ? bias_.data() : nullptr,
            .result = result.data(),
            .adds = adds,
            .activation = activation,
            .slope = 0.25f};
  }

  const WinogradCase case_;
  const WinogradTile tile_;
  const int64_t pixel_;
  std::vector<float> kernels_, bias_, before_, packed_, direct_;
};

class WinogradTest : public testing::TestWithParam<WinogradTile> {
 protected:
  void SetUp() override {
    if (!HasVectors()) GTEST_SKIP() << "this processor has neither AVX-512 nor AVX2";
  }

  // Relative to the sizes of sums: what the sums in between cost at most, and with room for unlucky numbers.
  double tolerance() const { return GetParam() == WinogradTile::kTwo ? 2e-5 : 4e-5; }
};

void ExpectSame(const std::vector<float>& result, const std::vector<float>& expected, double most) {
  ASSERT_EQ(result.size(), expected.size());
  for (size_t i = 0; i < result.size(); ++i) {
    if (std::isnan(expected[i]) || std::isinf(expected[i])) {
      ASSERT_EQ(std::isnan(result[i]), std::isnan(expected[i])) << i;
      if (std::isinf(expected[i])) {
        ASSERT_EQ(result[i], expected[i]) << i;
      }
    } else {
      ASSERT_NEAR(result[i], expected[i], most) << i;
    }
  }
}

std::vector<WinogradCase> WinogradCases() {
  std::vector<WinogradCase> cases;
  for (const int64_t size : {1, 2, 3, 4, 5, 8, 9, 14}) {
    for (const int64_t padding : {0, 1, 2}) {
      if (size + 2 * padding < 3) continue;
      for (const int64_t channels : {1, 16, 35}) {
        const ConvolutionSide side = Side(size, 3, 1, padding);
        cases.push_back({2, channels, channels + 5, side, side});
      }
    }
  }
  cases.push_back({1, 64, 64, Side(23, 3, 1, 1), Side(50, 3, 1, 0)});  // of several blocks
  cases.push_back({3, 512, 40, Side(7, 3, 1, 1), Side(7, 3, 1, 1)});   // whose sums would lie in the same lines
  cases.push_back({1, 1500, 20, Side(5, 3, 1, 1), Side(6, 3, 1, 1)});  // of a long inner size
  cases.push_back({0, 8, 8, Side(4, 3, 1, 1), Side(4, 3, 1, 1)});
  return cases;
}

TEST_P(WinogradTest, IsTheSumOfTheProducts) {
  for (const WinogradCase& a : WinogradCases()) {
    SCOPED_TRACE(a.Text());
    const WinogradComputation computation(a, GetParam());
    ExpectSame(computation.Compute(1, 1, true, false, Activation::kNone),
               computation.ComputeDirectly(true, false, Activation::kNone), tolerance() * computation.SizeOfSums());
    if (HasFatalFailure()) return;
  }
}

TEST_P(WinogradTest, WhatFollowsTheSumIsComputedToo) {
  const WinogradCase a{2, 24, 50, Side(7, 3, 1, 1), Side(20, 3, 1, 1)};
  const WinogradComputation computation(a, GetParam());
  for (const bool has_bias : {false, true}) {
    for (const bool adds : {false, true}) {
      for (const Activation activation : {Activation::kNone, Activation::kLeakyRelu, Activation::kSilu}) {
        ExpectSame(computation.Compute(1, 1, has_bias, adds, activation),
                   computation.ComputeDirectly(has_bias, adds, activation), tolerance() * computation.SizeOfSums());
      }
    }
  }
}

TEST_P(WinogradTest, ManyThreadsAndPiecesGiveTheSame) {
  for (const WinogradCase& a : WinogradCases()) {
    SCOPED_TRACE(a.Text());
    const WinogradComputation computation(a, GetParam());
    const std::vector<float> alone = computation.Compute(1, 1, true, true, Activation::kRelu);
    for (const int threads : {2, 3, 16}) {
      for (const int pieces : {1, 4}) {
        ExpectSame(computation.Compute(threads, pieces, true, true, Activation::kRelu), alone,
                   tolerance() * computation.SizeOfSums());
      }
    }
  }
}

TEST_P(WinogradTest, OtherChannelsBetweenTheImagesAreNotRead) {
  const WinogradCase a{2, 20, 20, Side(9, 3, 1, 1), Side(9, 3, 1, 1)};
  const WinogradComputation computation(a, GetParam(), 7);
  ExpectSame(computation.Compute(1, 1, false, false, Activation::kNone),
             computation.ComputeDirectly(false, false, Activation::kNone), tolerance() * computation.SizeOfSums());
}

TEST_P(WinogradTest, NumbersThatAreNotFiniteReachNoFurtherThanTheirKernels) {
  const WinogradCase a{2, 20, 40, Side(9, 3, 1, 1), Side(11, 3, 1, 1)};
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const float number : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
    for (const bool adds : {false, true}) {
      WinogradComputation computation(a, GetParam());
      computation.InputAt(1, 4, 5, 3) = number;
      const std::vector<float> result = computation.Compute(1, 1, true, adds, Activation::kRelu);
      ExpectSame(result, computation.ComputeDirectly(true, adds, Activation::kRelu),
                 tolerance() * computation.SizeOfSums());
      EXPECT_TRUE(std::ranges::any_of(result, [](float x) { return !std::isfinite(x); }));
    }
  }
}

TEST_P(WinogradTest, ImagesOfNothingButPaddingAndInfinityAreRight) {
  const WinogradCase a{1, 3, 5, Side(1, 3, 1, 3), Side(1, 3, 1, 3)};
  WinogradComputation computation(a, GetParam());
  computation.InputAt(0, 0, 0, 1) = std::numeric_limits<float>::infinity();
  ExpectSame(computation.Compute(1, 1, true, true, Activation::kNone),
             computation.ComputeDirectly(true, true, Activation::kNone), tolerance() * computation.SizeOfSums());
}

INSTANTIATE_TEST_SUITE_P(Tiles, WinogradTest, testing::Values(WinogradTile::kTwo, WinogradTile::kFour),
                         [](const auto& info) { return info.param == WinogradTile::kTwo ? "Two" : "Four"; });

}  // namespace
}  // namespace hearth::kernels
