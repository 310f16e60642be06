// What the tests of this room's convolutions share.
#pragma once

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "jit/kernels/convolution.h"

namespace hearth::kernels {

// Of the normal distribution; the same ones for the same seed.
class NormalNumbers {
 public:
  explicit NormalNumbers(uint32_t seed) : random_(seed) {}

  std::vector<float> Make(int64_t count) {
    std::vector<float> numbers(static_cast<size_t>(count));
    for (float& number : numbers) number = normal_(random_);
    return numbers;
  }
  // Of so many channels, and `others` behind them, which are NaN.
  std::vector<float> MakePixels(int64_t count, int64_t channels, int64_t others) {
    const int64_t pixel = channels + others;
    std::vector<float> numbers = Make(count * pixel);
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (static_cast<int64_t>(i) % pixel >= channels) numbers[i] = std::numeric_limits<float>::quiet_NaN();
    }
    return numbers;
  }

 private:
  std::mt19937 random_;
  std::normal_distribution<float> normal_;
};

inline ConvolutionSide Side(int64_t input, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation = 1) {
  const int64_t reach = dilation * (kernel - 1) + 1;
  return {input, kernel, (input + 2 * padding - reach) / stride + 1, stride, padding, dilation};
}

inline std::string SideText(const ConvolutionSide& side) {
  return std::to_string(side.input) + " by kernel " + std::to_string(side.kernel) + " stride " +
         std::to_string(side.stride) + " padding " + std::to_string(side.padding) + " dilation " +
         std::to_string(side.dilation);
}

}  // namespace hearth::kernels
