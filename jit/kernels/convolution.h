// Convolutions of channels-last images, with a bias, an addition and an activation in the same go. Each row of the
// result is a product (panel.h): for a row of the kernel, the numbers of the pixels that it covers lie one after the
// other, and those of the next pixel of the result a fixed distance behind them, so nothing is copied for it as in the
// method known as im2col. Rows of the input are copied, once for all channels of the result, where a kernel reaches
// over an image's left or right edge, or where pixels would push each other out of the cache. Only where HasVectors().
// What the padding above and below stands for is not multiplied, nor what it stands for beside the image where a
// kernel's columns are far apart. Sums are in the order of the kernel's rows, columns
// and channels, whatever part of the result is computed at a time.
#pragma once

#include <cstdint>

#include "jit/kernels/activation.h"
#include "jit/kernels/division.h"

namespace hearth::kernels {

// Along one dimension.
struct ConvolutionSide {
  int64_t input = 1, kernel = 1, result = 1;  // sizes
  int64_t stride = 1, padding = 0, dilation = 1;
};

struct ImageConvolution {
  int64_t images = 1, channels = 1, out_channels = 1;
  int64_t groups = 1;  // that divide both numbers of channels
  int64_t merged = 1;  // of so many of these one is made, for winograd.h alone; divides their number
  ConvolutionSide height, width;
  ConvolutionSide depth = {};  // of volumes, which winograd.h alone computes: [images, depth, height, width, channels]
  const float* input = nullptr;   // [images, height, width, channels], perhaps some channels of more
  int64_t input_stride = 1;       // from one pixel of the input to the next, in floats: its channels or more
  const float* packed = nullptr;  // the kernels, as what computes it wants them
  const float* bias = nullptr;    // [out_channels], or null
  float* result = nullptr;        // [images, height, width, out_channels]; nothing in common with the operands
  bool adds = false;              // what is in the result beforehand, before the activation
  Activation activation = Activation::kNone;
  float slope = 0;
};

// Kernels that are packed: those of `out_channels`, of `channels` / groups channels each.
struct ImageKernels {
  int64_t out_channels, channels_of_group, groups, height, width;
  int64_t PackedSize() const;  // in floats
};
// `kernels`: element (o, c, y, x) at o * out_stride + c * channel_stride + y * row_stride + x * column_stride.
// `packed`: of any alignment.
void PackImageKernels(const ImageKernels& sizes, const float* kernels, int64_t out_stride, int64_t channel_stride,
                      int64_t row_stride, int64_t column_stride, float* packed);

// The whole of a convolution whose `packed` are PackImageKernels', in parts of about the same work that do not depend
// on each other, `most` of them at most, and each of these in about so many pieces.
class ImageConvolutionParts {
 public:
  ImageConvolutionParts(const ImageConvolution& convolution, int most, int pieces);
  // Of the pieces; those of a part come one after the other.
  int64_t count() const { return parts_.count() * pieces_.count(); }
  // About as long one takes.
  double nanoseconds() const { return nanoseconds_; }
  // Pieces from `begin` up to `end`.
  void Compute(int64_t begin, int64_t end) const;

 private:
  double NanosecondsOf(int64_t units, int64_t panels) const;
  // Some panels of one group.
  void ComputeUnits(int64_t begin, int64_t end, int64_t group, int64_t panel_begin, int64_t panel_end) const;

  const ImageConvolution& convolution_;
  int64_t all_rows_, all_panels_;  // of all images; of all groups
  int64_t units_of_row_ = 1;       // pieces that a row is in
  Division parts_;                 // along all units, and along the panels
  Division pieces_;                // of each part
  double share_inside_ = 1;        // of the kernels, on the average, where that is known
  double nanoseconds_ = 0;
};

}  // namespace hearth::kernels
