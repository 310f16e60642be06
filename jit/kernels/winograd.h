// Convolutions of channels-last images or volumes of fewer products, with kernels of three pixels along rows, columns
// or both, without strides and dilations there: Winograd's minimal filtering, as in A. Lavin and S. Gray, "Fast
// Algorithms for Convolutional Neural Networks" (CVPR 2016). Tiles of the result are computed of patches of the input,
// which are two pixels longer; sums of a patch's pixels are multiplied with sums of the kernel's numbers, and sums of
// these products are the tile. With kernels of three by three, tiles of two by two take 16 products in the place of 36
// for each pair of channels, tiles of four by four 36 in the place of 144; along one side alone these are 4 in the
// place of 6, and 6 in the place of 12. A kernel's slices of a volume are added up as channels are. With a bias, an
// addition and an activation in the same go. Only where HasVectors().
//
// Narrow groups may be merged: a kernel of the channels of several has zeros for those of other groups. That is more
// products, and faster where a group's channels fill too little of a vector.
//
// A patch with a number that is not finite would spoil the whole tile, and groups that it does not belong to: what it
// is near is computed as the sum of all products, of kernels that are found from their sums again. Kernels must be
// finite.
#pragma once

#include <array>
#include <cstdint>

#include "jit/kernels/convolution.h"

namespace hearth::kernels {

enum class WinogradTile : uint8_t { kTwo, kFour };  // pixels of its sides

// Whether it is of that kind.
bool IsWinograd(const ImageConvolution& convolution);
// About how long it takes one thread.
double WinogradNanoseconds(WinogradTile tile, const ImageConvolution& convolution);

struct WinogradKernels {
  int64_t out_channels, channels_of_group, groups, merged, depth, height, width;
  int64_t PackedSize(WinogradTile tile) const;  // in floats
};
// `kernels`: element (o, c, z, y, x) at the sum of each times its stride. `packed`: of any alignment.
void PackWinogradKernels(WinogradTile tile, const WinogradKernels& sizes, const float* kernels,
                         const std::array<int64_t, 5>& strides, float* packed);

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
  int64_t all_tiles_, all_panels_;  // of all images and slices
  Division parts_;                  // along the tiles, and along the panels
  Division pieces_;                 // of each part
  double nanoseconds_ = 0;
};

}  // namespace hearth::kernels
