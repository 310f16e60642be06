// Attention whose mask hides nothing, whatever the sizes (analysis/element_bounds.h), has no mask: a trace of a model
// that was given none has one of all ones. Without it LibTorch has faster kernels; with one that was expanded along its
// rows, as such a mask is, it has none but matrix products in float32 on a GPU. Runs after fold_constant_tensors.
// Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool UnmaskAttention(Compilation& compilation);

}  // namespace hearth
