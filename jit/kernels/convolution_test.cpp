#include "jit/kernels/convolution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "jit/kernels/target.h"
#include "jit/kernels/test_support.h"

namespace hearth::kernels {
namespace {

constexpr float kSlope = 0.25f;

struct DenseCase {
  int64_t images, channels, out_channels, groups;
  ConvolutionSide height, width;

  std::string Text() const {
    std::string text = std::to_string(images) + " images of " + std::to_string(channels) + " channels, " +
                       std::to_string(out_channels) + " given, in groups: " + std::to_string(groups);
    for (const ConvolutionSide& side : {height, width}) text += ", " + SideText(side);
    return text;
  }
};

// Operands of a case, and what is computed of them. The input is some channels of images with `others` more.
class Computation {
 public:
  Computation(const DenseCase& a, uint32_t seed, int64_t others = 0) : case_(a), pixel_(a.channels + others) {
    NormalNumbers normal(seed);
    input_ = normal.MakePixels(a.images * a.height.input * a.width.input, a.channels, others);
    kernels_ = normal.Make(a.out_channels * a.channels / a.groups * a.height.kernel * a.width.kernel);
    bias_ = normal.Make(a.out_channels);
    before_ = normal.Make(a.images * a.height.result * a.width.result * a.out_channels);
    const ImageKernels sizes{a.out_channels, a.channels / a.groups, a.groups, a.height.kernel, a.width.kernel};
    packed_.resize(static_cast<size_t>(sizes.PackedSize()));
    const int64_t taps = a.height.kernel * a.width.kernel;
    PackImageKernels(sizes, kernels_.data(), taps * a.channels / a.groups, taps, a.width.kernel, 1, packed_.data());
  }

  std::vector<float> Compute(int threads, int pieces, bool has_bias, bool adds, Activation activation) const {
    std::vector<float> result = before_;
    const ImageConvolution convolution{.images = case_.images,
                                       .channels = case_.channels,
                                       .out_channels = case_.out_channels,
                                       .groups = case_.groups,
                                       .height = case_.height,
                                       .width = case_.width,
                                       .input = input_.data(),
                                       .input_stride = pixel_,
                                       .packed = packed_.data(),
                                       .bias = has_bias ? bias_.data() : nullptr,
                                       .result = result.data(),
                                       .adds = adds,
                                       .activation = activation,
                                       .slope = kSlope};
    EXPECT_LE(ImageConvolutionParts(convolution, threads, 1).count(), threads);
    const ImageConvolutionParts parts(convolution, threads, pieces);
    for (int64_t part = parts.count(); part-- > 0;) parts.Compute(part, part + 1);
    return result;
  }

  // Each element, of sums in double precision, is near enough.
  void ExpectRight(const std::vector<float>& result, bool has_bias, bool adds, Activation activation) const {
    size_t i = 0;
    for (int64_t image = 0; image < case_.images; ++image) {
      for (int64_t y = 0; y < case_.height.result; ++y) {
        for (int64_t x = 0; x < case_.width.result; ++x) {
          for (int64_t o = 0; o < case_.out_channels; ++o, ++i) {
            Sum sum = SumOf(image, y, x, o);
            if (has_bias) sum.Add(bias_[static_cast<size_t>(o)]);
            if (adds) sum.Add(before_[i]);
            const double expected =
                activation == Activation::kLeakyRelu && sum.value < 0 ? kSlope * sum.value : sum.value;
            ASSERT_NEAR(result[i], expected, 1e-6 * (sum.size + 1)) << image << ' ' << y << ' ' << x << ' ' << o;
          }
        }
      }
    }
  }

 private:
  struct Sum {
    double value = 0, size = 0;
    void Add(double term) { value += term, size += std::abs(term); }
  };

  Sum SumOf(int64_t image, int64_t row, int64_t column, int64_t out) const {
    Sum sum;
    const int64_t channels = case_.channels / case_.groups, group = out / (case_.out_channels / case_.groups);
    const float* kernel = kernels_.data() + out * channels * case_.height.kernel * case_.width.kernel;
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t ky = 0; ky < case_.height.kernel; ++ky) {
        for (int64_t kx = 0; kx < case_.width.kernel; ++kx, ++kernel) {
          const int64_t y = row * case_.height.stride - case_.height.padding + ky * case_.height.dilation;
          const int64_t x = column * case_.width.stride - case_.width.padding + kx * case_.width.dilation;
          if (y < 0 || x < 0 || y >= case_.height.input || x >= case_.width.input) continue;
          const int64_t pixel = (image * case_.height.input + y) * case_.width.input + x;
          sum.Add(double(*kernel) * input_[static_cast<size_t>(pixel * pixel_ + group * channels + c)]);
        }
      }
    }
    return sum;
  }

  const DenseCase case_;
  const int64_t pixel_;
  std::vector<float> input_, kernels_, bias_, before_, packed_;
};

class ImageConvolutionTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasVectors()) GTEST_SKIP() << "this processor has neither AVX-512 nor AVX2";
  }
};

std::vector<DenseCase> Cases() {
  std::vector<DenseCase> cases;
  for (const int64_t kernel : {1, 2, 3, 5}) {
    for (const int64_t stride : {1, 2, 3}) {
      for (const int64_t padding : {int64_t{0}, kernel / 2, kernel}) {
        for (const int64_t channels : {3, 16}) {
          const ConvolutionSide side = Side(9, kernel, stride, padding);
          cases.push_back({2, channels, 40, 1, side, side});
        }
      }
    }
  }
  cases.push_back({1, 1, 1, 1, Side(1, 1, 1, 0), Side(1, 1, 1, 0)});
  cases.push_back({1, 8, 70, 1, Side(17, 3, 2, 1), Side(31, 5, 1, 0)});
  cases.push_back({1, 512, 33, 1, Side(4, 3, 1, 1), Side(5, 3, 1, 1)});  // pixels that conflict
  cases.push_back({1, 256, 32, 1, Side(6, 3, 2, 1), Side(6, 3, 2, 1)});  // likewise, by their stride
  cases.push_back({1, 256, 32, 1, Side(6, 1, 2, 0), Side(6, 1, 2, 0)});  // and without a kernel between
  cases.push_back({1, 4, 16, 1, Side(14, 3, 1, 2, 2), Side(15, 3, 2, 4, 3)});
  cases.push_back({2, 12, 48, 3, Side(8, 3, 1, 1), Side(8, 3, 1, 1)});
  cases.push_back({1, 40, 80, 2, Side(10, 3, 2, 1), Side(9, 1, 1, 0)});
  cases.push_back({1, 32, 16, 1, Side(2, 3, 1, 4), Side(2, 3, 1, 4)});   // with rows and columns of nothing but padding
  cases.push_back({1, 400, 16, 1, Side(2, 3, 1, 4), Side(2, 3, 1, 4)});  // likewise, of a panel in pieces
  cases.push_back({1, 100, 70, 1, Side(9, 5, 2, 2), Side(5, 5, 1, 2)});  // of two rows of the kernel, or one
  cases.push_back({1, 64, 32, 1, Side(60, 3, 1, 1), Side(60, 3, 1, 1)});  // of several blocks
  cases.push_back({1, 9, 40, 1, Side(1, 1, 1, 0), Side(150, 9, 1, 4)});   // of one row
  cases.push_back({1, 9, 40, 1, Side(1, 1, 1, 0), Side(301, 4, 2, 0)});
  cases.push_back({1, 256, 16, 1, Side(5, 3, 1, 1), Side(700, 3, 1, 1)});  // whose rows are long
  cases.push_back({2, 8, 70, 1, Side(3, 3, 2, 1), Side(200, 1, 3, 5)});
  cases.push_back({1, 24, 40, 1, Side(14, 3, 1, 12, 12), Side(14, 3, 1, 12, 12)});  // far apart
  cases.push_back({2, 24, 40, 2, Side(14, 3, 1, 24, 24), Side(14, 3, 1, 24, 24)});  // all but the middle one outside
  cases.push_back({1, 400, 40, 1, Side(20, 3, 1, 9, 9), Side(40, 5, 2, 19, 10)});   // of a panel in pieces
  cases.push_back({1, 512, 33, 1, Side(12, 2, 1, 8, 8), Side(45, 3, 1, 30, 8)});  // with columns of nothing but padding
  cases.push_back(
      {1, 512, 40, 1, Side(30, 3, 1, 12, 12), Side(30, 3, 1, 12, 12)});          // far apart, of pixels that conflict
  cases.push_back({1, 512, 40, 1, Side(17, 3, 2, 4, 4), Side(19, 3, 2, 4, 4)});  // that a stride leaves some out of
  cases.push_back({1, 16, 40, 1, Side(17, 3, 4, 4, 6), Side(19, 3, 4, 4, 6)});
  cases.push_back({1, 16, 40, 1, Side(13, 2, 3, 3, 3), Side(13, 2, 3, 3, 3)});
  cases.push_back({0, 8, 8, 1, Side(4, 3, 1, 1), Side(4, 3, 1, 1)});
  return cases;
}

TEST_F(ImageConvolutionTest, EveryElementIsTheSumOfItsProducts) {
  for (const DenseCase& a : Cases()) {
    SCOPED_TRACE(a.Text());
    const Computation computation(a, 1);
    computation.ExpectRight(computation.Compute(1, 1, true, false, Activation::kNone), true, false, Activation::kNone);
    if (HasFatalFailure()) return;
  }
}

TEST_F(ImageConvolutionTest, WhatFollowsTheSumIsComputedToo) {
  for (const int64_t channels : {24, 360}) {  // a panel in one piece and in several
    const DenseCase a{1, channels, 50, 1, Side(4, 3, 1, 1), Side(20, 3, 1, 1)};
    const Computation computation(a, 2);
    for (const bool has_bias : {false, true}) {
      for (const bool adds : {false, true}) {
        const std::vector<float> result = computation.Compute(1, 1, has_bias, adds, Activation::kLeakyRelu);
        computation.ExpectRight(result, has_bias, adds, Activation::kLeakyRelu);
      }
    }
  }
}

TEST_F(ImageConvolutionTest, OtherChannelsBetweenTheImagesAreNotRead) {
  for (const int64_t padding : {0, 1}) {
    const DenseCase a{2, 16, 20, 2, Side(9, 3, 1, padding), Side(9, 3, 1, padding)};
    const Computation computation(a, 3, 7);
    computation.ExpectRight(computation.Compute(1, 1, false, false, Activation::kNone), false, false,
                            Activation::kNone);
  }
}

TEST_F(ImageConvolutionTest, EveryNumberOfThreadsAndPiecesGivesTheSame) {
  for (const DenseCase& a : Cases()) {
    SCOPED_TRACE(a.Text());
    const Computation computation(a, 4);
    const std::vector<float> alone = computation.Compute(1, 1, true, true, Activation::kRelu);
    for (const int threads : {2, 3, 5, 16, 64}) {
      for (const int pieces : {1, 4})
        EXPECT_EQ(computation.Compute(threads, pieces, true, true, Activation::kRelu), alone);
    }
  }
}

}  // namespace
}  // namespace hearth::kernels
