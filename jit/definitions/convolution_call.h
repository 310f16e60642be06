// A convolution of images, as a node calls it, with a weight and settings that are constants.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "jit/ir/graph.h"

namespace hearth {

struct ConvolutionCall {
  at::Tensor weight;                               // [out, in / groups, height, width], dense
  std::vector<int64_t> padding, stride, dilation;  // two of each
  int64_t groups = 1;

  // What aten::conv2d or a _convolution of images that is not transposed is told beside its input. Null if the node
  // calls none, if its weight or a setting is no constant, or if LibTorch would not accept them.
  static std::optional<ConvolutionCall> Of(const Node& node);
};

}  // namespace hearth
