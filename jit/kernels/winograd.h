// Convolutions of channels-last images with kernels of three by three pixels, without strides, dilations and groups, of
// fewer products: S. Winograd's minimal filtering in two dimensions, as in A. Lavin and S. Gray, "Fast Algorithms for
// Convolutional Neural Networks" (CVPR 2016). Tiles of the result are computed of patches of the input, which are two
// pixels longer either way; sums of a patch's pixels are multiplied with sums of the kernel's numbers, and sums of
// these products are the tile. For tiles of two by two that are 16 products in the place of 36 for each pair of
// channels, for tiles of four by four 36 in the place of 144; the rounding of the sums in between makes the error
// larger. With a bias, an addition and an activation in the same go. Only where HasVectors().
//
// A patch with a number that is not finite would spoil the whole tile: what it is near is computed as the sum of all
// products, of kernels that are found from their sums again. Kernels must be finite.
#pragma once

#include <cstdint>

#include "jit/kernels/convolution.h"

namespace hearth::kernels {

enum class WinogradTile : uint8_t { kTwo, kFour };  // pixels of its sides

// Whether it is of that kind.
bool IsWinograd(const ImageConvolution& convolution);
// About how long it takes one thread in a model whose kernels do not stay in the caches.
double WinogradNanoseconds(WinogradTile tile, const ImageConvolution& convolution);

// As ImageKernels::PackedSize and PackImageKernels.
int64_t WinogradPackedSize(WinogradTile tile, const ImageKernels& sizes);
void PackWinogradKernels(WinogradTile tile, const ImageKernels& sizes, const float* kernels, int64_t out_stride,
                         int64_t channel_stride, int64_t row_stride, int64_t column_stride, float* packed);

// As ImageConvolutionParts; the convolution's `packed` are PackWinogradKernels'.
class WinogradParts {
 public:
  WinogradParts(WinogradTile tile, const ImageConvolution& convolution, int most, int pieces);
  int64_t count() const { return parts_.count() * pieces_.count(); }
  double nanoseconds() const { return nanoseconds_; }
  void Compute(int64_t begin, int64_t end) const;

 private:
  const WinogradTile tile_;
  const ImageConvolution& convolution_;
  int64_t all_tiles_, all_panels_;  // of all images
  Division parts_;                  // along the tiles, and along the panels
  Division pieces_;                 // of each part
  double nanoseconds_ = 0;
};

}  // namespace hearth::kernels
