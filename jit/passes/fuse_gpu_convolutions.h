// Convolutions on a GPU and what comes right after them: cuDNN and cuBLAS have it in the same kernel, which LibTorch's
// operators do not ask them for. LibTorch adds a convolution's bias in a kernel of its own.
//
//   relu(convolution)              aten::cudnn_convolution_relu
//   relu(convolution + y)          aten::cudnn_convolution_add_relu
//   a convolution of single pixels a linear layer of the image's pixels, which lie one after the other channels-last;
//                                  where the image is one pixel, relu(convolution) is a linear layer and relu
//   one of single pixels in groups hearth::grouped_linear of the pixels, where a group's channels in and out are
//                                  multiples of 8, and an addition of the bias as below
//   a convolution of tiles of few  a linear layer of the tiles, which are copied for it
//   channels
//   any other with a bias, also    the convolution without it, and an addition, behind views, which fusion joins with
//   a transposed one               what follows, and what hearth::group_scales reads
//
// In half precision, where a layer's weights may be folded as well: what is rounded in between may differ. Returns
// whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool FuseGpuConvolutions(Compilation& compilation);

}  // namespace hearth
