// einsum as the product of matrices that it is: two tensors, a constant equation without an ellipsis or repeated
// letters, one dimension summed over, one that only the first has and one that only the second has, last in the result
// in this order; the others are in both and in the result, in front and in one order. Each of the two may have its last
// dimensions the other way round.
//
//   bhid,bhjd->bhij   is   matmul(q, k.transpose(-1, -2))
//
// Where the sizes are known and nobody sees the order of the result in memory, the dimensions may be in any order, and
// there may be several of each kind: permutations and reshapes put those together.
//
// Otherwise only where no size is 1: einsum would stretch it, and give the result other strides.
// LibTorch takes an equation apart in each call anew: its operators called on 2 cores of a shared machine with matrices
// of 8 x 16 took 3 µs in place of 15 for two of them, and 10 in place of 13 for batches in two dimensions. Of linear,
// layer_norm, flatten and chunk, what they do inside took as long as they do. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool DecomposeEinsum(Compilation& compilation);

}  // namespace hearth
