// Convolutions of channels-last images in which every channel has a kernel of its own, with a bias, an addition and an
// activation in the same go. A pass over two vectors of channels sums up to seven neighbouring elements of the result
// in registers; each vector of the input that is read goes into all of the sums that it belongs to, as in J. Zhang, F.
// Franchetti and T. M. Low, "High Performance Zero-Memory Overhead Direct Convolutions" (ICML 2018). Only where
// HasVectors(). What the padding stands for is not read and not multiplied. A sum is the bias, then the products in
// the order of the kernel's rows and columns.
#pragma once

#include <cstdint>

#include "jit/kernels/activation.h"

namespace hearth::kernels {

// Along one dimension.
struct DepthwiseSide {
  int64_t input = 1, kernel = 1, result = 1;  // sizes
  int64_t stride = 1, padding = 0, dilation = 1;
};

struct Depthwise {
  int64_t images = 1, channels = 1;
  DepthwiseSide height, width;
  const float* input = nullptr;   // [images, height, width, channels], perhaps some channels of more
  int64_t input_stride = 1;       // from one pixel of the input to the next, in floats: its channels or more
  const float* packed = nullptr;  // the kernels, by PackDepthwise
  const float* bias = nullptr;    // [channels], or null
  float* result = nullptr;        // [images, height, width, channels]; nothing in common with the operands
  bool adds = false;              // what is in the result beforehand, before the activation
  Activation activation = Activation::kNone;
  float slope = 0;
};

// Floats that the packed kernels take.
int64_t DepthwisePackedSize(int64_t channels, int64_t kernel_height, int64_t kernel_width);
// `kernels`: element (c, y, x) at c * channel_stride + y * row_stride + x * column_stride. `packed`: of any alignment.
void PackDepthwise(const float* kernels, int64_t channels, int64_t kernel_height, int64_t kernel_width,
                   int64_t channel_stride, int64_t row_stride, int64_t column_stride, float* packed);

// The whole, in parts that do not depend on each other and are of use to so many threads.
class DepthwiseParts {
 public:
  DepthwiseParts(const Depthwise& convolution, int threads);
  int64_t count() const { return count_; }
  // About as long one takes.
  double nanoseconds() const { return nanoseconds_; }
  // Parts from `begin` up to `end`.
  void Compute(int64_t begin, int64_t end) const;

 private:
  const Depthwise& convolution_;
  int64_t panels_, rows_, chunks_;  // of channels; of the result's rows in a part; of such rows in an image
  int64_t count_;
  double nanoseconds_;
};

}  // namespace hearth::kernels
