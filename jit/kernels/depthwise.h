// Convolutions of channels-last images in which every channel has a kernel of its own, with a bias, an addition and an
// activation in the same go. A pass over two vectors of channels sums up to seven neighbouring elements of the result
// in registers; each vector of the input that is read goes into all of the sums that it belongs to, as in J. Zhang, F.
// Franchetti and T. M. Low, "High Performance Zero-Memory Overhead Direct Convolutions" (ICML 2018). Only where
// HasVectors(). What the padding stands for is not read and not multiplied. A sum is the bias, then the products in
// the order of the kernel's rows and columns.
#pragma once

#include <cstdint>

#include "jit/kernels/convolution.h"

namespace hearth::kernels {

// Floats that the packed kernels take.
int64_t DepthwisePackedSize(int64_t channels, int64_t kernel_height, int64_t kernel_width);
// `kernels`: element (c, y, x) at c * channel_stride + y * row_stride + x * column_stride. `packed`: of any alignment.
void PackDepthwise(const float* kernels, int64_t channels, int64_t kernel_height, int64_t kernel_width,
                   int64_t channel_stride, int64_t row_stride, int64_t column_stride, float* packed);

// The whole of a convolution with as many groups as channels of either kind, whose `packed` are PackDepthwise's, in
// parts that do not depend on each other and are of use to so many threads.
class DepthwiseParts {
 public:
  DepthwiseParts(const ImageConvolution& convolution, int threads);
  int64_t count() const { return count_; }
  // About as long one takes.
  double nanoseconds() const { return nanoseconds_; }
  // Parts from `begin` up to `end`.
  void Compute(int64_t begin, int64_t end) const;

 private:
  const ImageConvolution& convolution_;
  int64_t panels_;                        // of channels
  int64_t panels_of_part_, panel_parts_;  // in how many parts they are
  int64_t rows_, chunks_;                 // of the result, of a part; in how many parts those of an image are
  int64_t count_;
  double nanoseconds_;
};

}  // namespace hearth::kernels
