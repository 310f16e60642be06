// Transposed convolutions become convolutions that are not: of one with a stride, each pixel of the result is made of
// those pixels of the image that lie within the kernel, by those of its weights that are as far from one another as the
// stride. All pixels in the same place within a stride are one convolution, with a part of the weights for its kernel;
// these are one convolution together, with so many times as many channels, which hearth::spread_channels puts where
// they belong.
//
//   conv_transpose2d(x, w [in, out, 4, 4], b, stride=2, padding=1)
//   spread_channels(conv2d(x, w' [4 * out, in, 2, 2], b', padding=1), [2, 2], [1, 1], [1, 1])
//
// So they have kernels of hearth's own, and activations inside. Those of sequences become such of images of one row.
// LibTorch's copies the weights into another order in each call, and images, too.
//
// Float32 on a CPU, constant weights in one group, no dilation. A result whose order in memory somebody may see is
// copied into the default order, if LibTorch's has that. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool SpreadConvolutions(Compilation& compilation);

}  // namespace hearth
