// What the tests of this room's convolutions share.
#pragma once

#include <cstdint>
#include <string>

#include "jit/kernels/convolution.h"

namespace hearth::kernels {

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
