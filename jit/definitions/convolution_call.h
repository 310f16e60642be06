// A convolution of images, of volumes or of sequences, as a node calls it, with a weight and settings that are
// constants.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "jit/ir/graph.h"

namespace hearth {

// Whether a convolution's node is transposed; unknown of one that is told by what is no constant, and of other nodes.
std::optional<bool> IsTransposedConvolution(const Node& node);

struct ConvolutionCall {
  at::Tensor weight;  // [out, in / groups, height, width], dense; of volumes [out, in / groups, depth, height, width]
  std::vector<int64_t> padding, stride, dilation;  // two of each, of volumes three
  int64_t groups = 1;

  bool is_of_volumes() const { return weight.dim() == 5; }
  // Of images: whether each pixel of the result is computed of that of the image in the same place alone.
  bool IsOfSinglePixels() const;
  // Of images: whether each pixel of the result is that of the image in the same place, multiplied with a matrix.
  bool IsOfPixels() const { return groups == 1 && IsOfSinglePixels(); }

  // What aten::conv2d or a convolution of images that is not transposed is told beside its input. Null if the node
  // calls none, if its weight or a setting is no constant, or if LibTorch would not accept them.
  static std::optional<ConvolutionCall> Of(const Node& node);
  // The same, or what aten::conv3d or a convolution of volumes, [batch, channels, depth, height, width], is told.
  static std::optional<ConvolutionCall> OfImagesOrVolumes(const Node& node);
  // Of aten::conv1d or a convolution of sequences, [batch, channels, length]: the same convolution of images of one
  // row. The weight is a view of the node's.
  static std::optional<ConvolutionCall> OfSequences(const Node& node);
};

// A transposed convolution of one group without dilation; one of sequences as that of images of one row.
struct TransposedConvolutionCall {
  at::Tensor weight;                                     // [in, out, height, width]; of sequences a view of the node's
  at::Tensor bias;                                       // undefined: none
  std::vector<int64_t> padding, output_padding, stride;  // two of each
  bool of_sequences = false;

  // What a node is told beside its input that calls one. Null as above.
  static std::optional<TransposedConvolutionCall> Of(const Node& node);
};

}  // namespace hearth
