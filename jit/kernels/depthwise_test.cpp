#include "jit/kernels/depthwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "jit/kernels/target.h"
#include "jit/kernels/test_support.h"

namespace hearth::kernels {
namespace {

struct ImageCase {
  int64_t images, channels;
  ConvolutionSide height, width;
};

ImageCase Square(int64_t images, int64_t channels, const ConvolutionSide& side) {
  return {images, channels, side, side};
}

std::string CaseText(const ImageCase& a) {
  std::string text = std::to_string(a.images) + " images of " + std::to_string(a.channels) + " channels";
  for (const ConvolutionSide& side : {a.height, a.width}) text += ", " + SideText(side);
  return text;
}

std::vector<ImageCase> ImageCases() {
  std::vector<ImageCase> cases;
  for (const int64_t kernel : {3, 5, 7}) {
    for (const int64_t stride : {1, 2}) {
      for (const int64_t input : {7, 8, 15, 20}) {
        for (const int64_t channels : {5, 16, 32, 40}) {
          for (const int64_t padding : {int64_t{0}, kernel / 2, kernel - 1})
            cases.push_back(Square(2, channels, Side(input, kernel, stride, padding)));
        }
      }
    }
  }
  cases.push_back(Square(1, 1, Side(1, 1, 1, 0)));
  cases.push_back(Square(1, 48, Side(1, 3, 1, 1)));
  cases.push_back(Square(1, 33, Side(9, 3, 3, 1)));
  cases.push_back(Square(1, 64, Side(21, 3, 1, 2, 2)));
  cases.push_back(Square(1, 17, Side(11, 5, 2, 7, 3)));
  cases.push_back(Square(3, 24, Side(10, 4, 1, 2)));
  cases.push_back(Square(1, 32, Side(16, 2, 2, 0)));
  cases.push_back(Square(1, 32, Side(4, 3, 1, 9)));  // with rows and columns of nothing but padding
  cases.push_back(Square(1, 32, Side(2, 3, 1, 6, 4)));
  cases.push_back({1, 144, Side(1, 1, 1, 0), Side(50, 31, 1, 15)});
  cases.push_back({2, 20, Side(50, 31, 1, 15), Side(1, 1, 1, 0)});
  cases.push_back({1, 32, Side(12, 3, 2, 0), Side(19, 5, 1, 2)});
  cases.push_back(Square(0, 32, Side(7, 3, 1, 1)));
  return cases;
}

struct ImageOperands {
  std::vector<float> input, kernels, bias, before;  // [images, height, width, channels], [channels, height, width]
};

ImageOperands RandomOperands(const ImageCase& a, std::mt19937& random) {
  std::normal_distribution<float> normal;
  const auto numbers = [&](int64_t count) {
    std::vector<float> made(static_cast<size_t>(count));
    for (float& number : made) number = normal(random);
    return made;
  };
  return {numbers(a.images * a.height.input * a.width.input * a.channels),
          numbers(a.channels * a.height.kernel * a.width.kernel), numbers(a.channels),
          numbers(a.images * a.height.result * a.width.result * a.channels)};
}

// With `others`, the input is a part of images with so many more channels.
std::vector<float> ComputedImage(const ImageCase& a, const ImageOperands& operands, bool has_bias, bool adds,
                                 Activation activation, int threads, int64_t others = 0) {
  std::vector<float> packed(static_cast<size_t>(DepthwisePackedSize(a.channels, a.height.kernel, a.width.kernel)));
  PackDepthwise(operands.kernels.data(), a.channels, a.height.kernel, a.width.kernel, a.height.kernel * a.width.kernel,
                a.width.kernel, 1, packed.data());
  std::vector<float> result = operands.before;
  const int64_t input_stride = a.channels + others, first = others / 2;
  std::vector<float> input;
  for (size_t i = 0; i < operands.input.size(); i += static_cast<size_t>(a.channels)) {
    const auto pixel = operands.input.begin() + static_cast<std::ptrdiff_t>(i);
    input.insert(input.end(), static_cast<size_t>(first), std::numeric_limits<float>::quiet_NaN());
    input.insert(input.end(), pixel, pixel + a.channels);
    input.insert(input.end(), static_cast<size_t>(others - first), std::numeric_limits<float>::quiet_NaN());
  }
  const ImageConvolution convolution{.images = a.images,
                                     .channels = a.channels,
                                     .out_channels = a.channels,
                                     .groups = a.channels,
                                     .height = a.height,
                                     .width = a.width,
                                     .input = input.data() + first,
                                     .input_stride = input_stride,
                                     .packed = packed.data(),
                                     .bias = has_bias ? operands.bias.data() : nullptr,
                                     .result = result.data(),
                                     .adds = adds,
                                     .activation = activation,
                                     .slope = 0.25f};
  const DepthwiseParts parts(convolution, threads);
  for (int64_t part = parts.count(); part-- > 0;) parts.Compute(part, part + 1);
  return result;
}

double Activated(Activation activation, double x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return x < 0 ? 0 : x;
    case Activation::kRelu6:
      return std::min(std::max(x, 0.0), 6.0);
    case Activation::kLeakyRelu:
      return x < 0 ? x * 0.25 : x;
    case Activation::kGelu:
      return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::kGeluTanh:
      return x / 2 * (1 + std::tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kHardSwish:
      return x * std::min(std::max(x + 3, 0.0), 6.0) / 6;
  }
  return 0;
}

// Each element and the sum of its summands' sizes.
std::vector<std::pair<double, double>> ExpectedImage(const ImageCase& a, const ImageOperands& operands, bool has_bias,
                                                     bool adds) {
  std::vector<std::pair<double, double>> expected;
  for (int64_t image = 0; image < a.images; ++image) {
    for (int64_t y = 0; y < a.height.result; ++y) {
      for (int64_t x = 0; x < a.width.result; ++x) {
        for (int64_t c = 0; c < a.channels; ++c) {
          double sum = 0, size = 0;
          const auto add = [&](double summand) { sum += summand, size += std::abs(summand); };
          if (has_bias) add(operands.bias[c]);
          if (adds) add(operands.before[expected.size()]);
          for (int64_t i = 0; i < a.height.kernel; ++i) {
            const int64_t row = y * a.height.stride - a.height.padding + i * a.height.dilation;
            if (row < 0 || row >= a.height.input) continue;
            for (int64_t j = 0; j < a.width.kernel; ++j) {
              const int64_t column = x * a.width.stride - a.width.padding + j * a.width.dilation;
              if (column < 0 || column >= a.width.input) continue;
              const int64_t at = ((image * a.height.input + row) * a.width.input + column) * a.channels + c;
              add(static_cast<double>(operands.input[at]) *
                  operands.kernels[(c * a.height.kernel + i) * a.width.kernel + j]);
            }
          }
          expected.emplace_back(sum, size);
        }
      }
    }
  }
  return expected;
}

void ExpectClose(const std::vector<float>& found, const std::vector<std::pair<double, double>>& expected,
                 Activation activation, const std::string& text) {
  ASSERT_EQ(found.size(), expected.size()) << text;
  for (size_t i = 0; i < found.size(); ++i) {
    const double wanted = Activated(activation, expected[i].first);
    if (std::isnan(wanted) || std::isinf(wanted)) {
      ASSERT_TRUE(std::isnan(wanted) ? std::isnan(found[i]) : found[i] == wanted) << text << " at " << i;
    } else {
      ASSERT_NEAR(found[i], wanted, 1e-6 * (1 + expected[i].second)) << text << " at " << i;
    }
  }
}

TEST(DepthwiseTest, IsTheSumThatTheDefinitionSaysForAllKindsOfKernels) {
  if (!HasVectors()) GTEST_SKIP() << "this processor has neither AVX-512 nor AVX2";
  std::mt19937 random(1);
  for (const ImageCase& a : ImageCases()) {
    const ImageOperands operands = RandomOperands(a, random);
    for (const bool has_bias : {false, true}) {
      for (const bool adds : {false, true}) {
        const auto expected = ExpectedImage(a, operands, has_bias, adds);
        for (const Activation activation : {Activation::kNone, Activation::kRelu, Activation::kSilu}) {
          for (const int threads : {1, 3}) {
            const auto found = ComputedImage(a, operands, has_bias, adds, activation, threads);
            ASSERT_NO_FATAL_FAILURE(ExpectClose(found, expected, activation, CaseText(a)));
          }
        }
      }
    }
  }
}

TEST(DepthwiseTest, TheInputMayBeSomeChannelsOfMore) {
  if (!HasVectors()) GTEST_SKIP() << "this processor has neither AVX-512 nor AVX2";
  std::mt19937 random(3);
  for (const ImageCase& a : ImageCases()) {
    const ImageOperands operands = RandomOperands(a, random);
    EXPECT_EQ(ComputedImage(a, operands, true, false, Activation::kNone, 1, 7),
              ComputedImage(a, operands, true, false, Activation::kNone, 1))
        << CaseText(a);
  }
}

TEST(DepthwiseTest, EveryActivationFollows) {
  if (!HasVectors()) GTEST_SKIP() << "this processor has neither AVX-512 nor AVX2";
  std::mt19937 random(2);
  const ImageCase a = Square(1, 40, Side(9, 3, 1, 1));
  const ImageOperands operands = RandomOperands(a, random);
  const auto expected = ExpectedImage(a, operands, true, true);
  for (const Activation activation :
       {Activation::kNone, Activation::kRelu, Activation::kLeakyRelu, Activation::kGelu, Activation::kGeluTanh,
        Activation::kSilu, Activation::kSigmoid, Activation::kTanh, Activation::kHardSwish}) {
    ExpectClose(ComputedImage(a, operands, true, true, activation, 1), expected, activation,
                "activation " + std::to_string(static_cast<int>(activation)));
  }
}

TEST(DepthwiseTest, WhatIsNoNumberReachesThePixelsAroundItAndNoOthers) {
  if (!HasVectors()) GTEST_SKIP() << "this processor has neither AVX-512 nor AVX2";
  std::mt19937 random(3);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const ImageCase& a : {Square(1, 40, Side(15, 3, 1, 1)), Square(1, 40, Side(15, 5, 2, 2)),
                             Square(1, 24, Side(15, 4, 1, 3)), Square(1, 32, Side(8, 7, 1, 3))}) {
    ImageOperands operands = RandomOperands(a, random);
    for (const float number : {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity})
      operands.input[random() % operands.input.size()] = number;
    for (const Activation activation : {Activation::kNone, Activation::kRelu}) {
      ExpectClose(ComputedImage(a, operands, true, false, activation, 1), ExpectedImage(a, operands, true, false),
                  activation, CaseText(a));
    }
    // A weight that is infinite is not multiplied by what the padding stands for.
    operands.kernels[0] = kInfinity;
    ExpectClose(ComputedImage(a, operands, true, false, Activation::kNone, 1), ExpectedImage(a, operands, true, false),
                Activation::kNone, CaseText(a));
  }
}

}  // namespace
}  // namespace hearth::kernels
