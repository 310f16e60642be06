// What is computed from constant tensors and numbers alone is computed while compiling: the reshaped scale of a norm
// that a model writes out, the transposed table, the bias that attention picks from a table, the mask that is made at
// each run; and weights that are made of weights: standardised, scaled, of weight normalisation.
//
// Only operators without effects whose results are neither written, returned nor handed out and lie in no more than
// kMaxFoldedTensorBytes, or, where every element comes of one in its place or row, in no more than the largest of their
// operands; or in more, if what is computed of them alone soon lies in so little, as a table does that a model computes
// from positions. What other operators than products are given is as small, too. Runs the operator itself where its
// operands are, with gradients off, where it neither runs long nor makes much of little. An operator that fails is left
// to fail at run time. The memory of constants must not be written by any method of the model: that is for the caller
// to know. Returns whether the graph changed.
#pragma once

#include <cstddef>

namespace hearth {

class Compilation;

inline constexpr size_t kMaxFoldedTensorBytes = 2 * 1024 * 1024;

bool FoldConstantTensors(Compilation& compilation);

}  // namespace hearth
