#include "jit/kernels/pixels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "jit/kernels/target.h"

namespace hearth::kernels {
namespace {

constexpr int64_t kPixels = 7, kPadding = 3;
constexpr float kUntouched = -1000;

// Of whole numbers, whose sums are exact. After each pixel's channels is what nobody may read, and after a result what
// nobody may write.
class PixelsTest : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override {
    if (!HasVectors()) GTEST_SKIP() << "this processor has neither AVX-512 nor AVX2";
    numbers_.resize(static_cast<size_t>(kPixels * stride_), std::numeric_limits<float>::quiet_NaN());
    for (int64_t pixel = 0; pixel < kPixels; ++pixel) {
      for (int64_t channel = 0; channel < channels_; ++channel)
        numbers_[static_cast<size_t>(pixel * stride_ + channel)] =
            static_cast<float>((pixel * 31 + channel * 17) % 23 - 11);
      list_.push_back(numbers_.data() + pixel * stride_);
    }
    std::ranges::reverse(list_);
  }

  float At(int64_t pixel, int64_t channel) const { return numbers_[static_cast<size_t>(pixel * stride_ + channel)]; }
  std::vector<float> Result() const { return std::vector<float>(static_cast<size_t>(stride_), kUntouched); }
  // Of each channel what `combine` makes of all pixels' numbers.
  template <typename Combine>
  std::vector<float> Expected(float first, const Combine& combine) const {
    std::vector<float> expected = Result();
    for (int64_t channel = 0; channel < channels_; ++channel) {
      float& all = expected[static_cast<size_t>(channel)] = first;
      for (int64_t pixel = 0; pixel < kPixels; ++pixel) all = combine(all, At(pixel, channel));
    }
    return expected;
  }

  const int64_t channels_ = GetParam();
  const int64_t stride_ = channels_ + kPadding;
  std::vector<float> numbers_;
  std::vector<const float*> list_;
  PixelRow Row() const { return {numbers_.data(), kPixels, stride_}; }
};

TEST_P(PixelsTest, SumsAreThoseOfEachChannel) {
  std::vector<float> expected = Expected(0, [](float a, float b) { return a + b; });
  std::vector<float> of_row = Result(), of_list = Result();
  SumPixels(Row(), channels_, of_row.data());
  EXPECT_EQ(of_row, expected);
  for (int64_t channel = 0; channel < channels_; ++channel) expected[static_cast<size_t>(channel)] /= 3;
  SumPixels(list_, channels_, 3, of_list.data());
  EXPECT_EQ(of_list, expected);
}

TEST_P(PixelsTest, SoAreSumsOfSquares) {
  std::vector<float> sums = Result(), squares = Result(), alone = Result();
  SumSquaresOfPixels(Row(), channels_, alone.data());
  EXPECT_EQ(alone, Expected(0, [](float a, float b) { return a + b * b; }));
  SumPixelsAndSquares(Row(), channels_, sums.data(), squares.data());
  EXPECT_EQ(sums, Expected(0, [](float a, float b) { return a + b; }));
  EXPECT_EQ(squares, Expected(0, [](float a, float b) { return a + b * b; }));
}

TEST_P(PixelsTest, TheLargestNumberOfAChannelOrItsNaN) {
  std::vector<float> largest = Result();
  LargestOfPixels(list_, channels_, largest.data());
  EXPECT_EQ(largest, Expected(-100, [](float a, float b) { return std::max(a, b); }));
  for (int64_t pixel = 0; pixel < kPixels; ++pixel) {
    const auto at = static_cast<size_t>(pixel * stride_ + channels_ - 1);
    const float kept = numbers_[at];
    numbers_[at] = std::numeric_limits<float>::quiet_NaN();
    LargestOfPixels(list_, channels_, largest.data());
    numbers_[at] = kept;
    EXPECT_TRUE(std::isnan(largest[static_cast<size_t>(channels_ - 1)])) << "of pixel " << pixel;
    EXPECT_TRUE(channels_ == 1 || !std::isnan(largest[0]));
  }
}

TEST_P(PixelsTest, PixelsAreBlendedByTheirWeights) {
  std::vector<float> weights, blended = Result(), expected = Result();
  for (int64_t pixel = 0; pixel < kPixels; ++pixel) weights.push_back(static_cast<float>(pixel % 3 - 1));
  for (int64_t channel = 0; channel < channels_; ++channel) {
    float& sum = expected[static_cast<size_t>(channel)] = 0;
    for (size_t pixel = 0; pixel < list_.size(); ++pixel) sum += list_[pixel][channel] * weights[pixel];
  }
  BlendPixels(list_, weights.data(), channels_, blended.data());
  EXPECT_EQ(blended, expected);
}

TEST_P(PixelsTest, ExponentialsAreSummedAndScaled) {
  std::vector<float> base = Result(), factors = Result(), sums = Result();
  LargestOfPixels(Row(), channels_, base.data());
  EXPECT_EQ(base, Expected(-100, [](float a, float b) { return std::max(a, b); }));
  for (int64_t channel = 0; channel < channels_; ++channel)
    factors[static_cast<size_t>(channel)] = static_cast<float>(channel % 5 + 1);
  SumExponentials(Row(), channels_, base.data(), sums.data());
  const int64_t to_stride = channels_ + 1;
  std::vector<float> scaled(static_cast<size_t>(kPixels * to_stride), kUntouched);
  ScaleExponentials(Row(), channels_, base.data(), factors.data(), scaled.data(), to_stride);
  for (int64_t channel = 0; channel < channels_; ++channel) {
    const auto at = static_cast<size_t>(channel);
    double sum = 0;
    for (int64_t pixel = 0; pixel < kPixels; ++pixel) {
      const double expected = std::exp(double(At(pixel, channel)) - base[at]);
      sum += expected;
      EXPECT_NEAR(scaled[static_cast<size_t>(pixel * to_stride + channel)], expected * factors[at],
                  1e-6 * factors[at] * expected);
    }
    EXPECT_NEAR(sums[at], sum, 1e-6 * sum);
  }
  for (int64_t pixel = 0; pixel < kPixels; ++pixel)
    EXPECT_EQ(scaled[static_cast<size_t>(pixel * to_stride + channels_)], kUntouched);
  EXPECT_EQ(sums[static_cast<size_t>(channels_)], kUntouched);
}

TEST_P(PixelsTest, ExponentialsOfMinusInfinityAreZero) {
  std::ranges::fill(numbers_, -std::numeric_limits<float>::infinity());
  std::vector<float> base = Result(), sums = Result();
  LargestOfPixels(Row(), channels_, base.data());
  SumExponentials(Row(), channels_, base.data(), sums.data());
  EXPECT_EQ(sums, Expected(0, [](float sum, float) { return sum; }));
}

TEST_P(PixelsTest, EachNumberIsScaledByItsChannels) {
  std::vector<float> factors = Result(), offsets = Result();
  for (int64_t channel = 0; channel < channels_; ++channel) {
    factors[static_cast<size_t>(channel)] = static_cast<float>(channel % 5);
    offsets[static_cast<size_t>(channel)] = static_cast<float>(channel % 7);
  }
  std::vector<float> scaled(numbers_.size(), kUntouched), expected = scaled;
  for (int64_t pixel = 0; pixel < kPixels; ++pixel) {
    for (int64_t channel = 0; channel < channels_; ++channel)
      expected[static_cast<size_t>(pixel * stride_ + channel)] =
          At(pixel, channel) * static_cast<float>(channel % 5) + static_cast<float>(channel % 7);
  }
  ScalePixels(Row(), channels_, factors.data(), offsets.data(), scaled.data());
  EXPECT_EQ(scaled, expected);
}

INSTANTIATE_TEST_SUITE_P(Channels, PixelsTest, ::testing::Values(1, 3, 8, 15, 16, 17, 63, 64, 65, 100, 144),
                         [](const auto& tested) { return std::to_string(tested.param); });

}  // namespace
}  // namespace hearth::kernels
