// Attention of another rank than 4 is computed in four dimensions: LibTorch's kernels take no others, and without them
// it multiplies matrices, in float32 copies of operands of half precision, with a softmax between.
//
//   attention(q, k, v) of [a, b, heads, n, d]    unflatten(attention(flatten(q, 0, 1), ...), 0, [a, b])
//   of [heads, n, d]                             squeeze(attention(unsqueeze(q, 1), ...), 1)
//
// scaled_dot_product_attention without a mask, dropout or repeated heads, that is not causal, of queries, keys and
// values whose leading sizes are the same known numbers. Where these dimensions do not lie one inside of the other in
// memory, flattening copies, which is less than the products would copy. Where the target has no kernel of attention of
// its own, and nobody sees in which order in memory the result lies. Runs after join_projections, which looks for
// attention behind linear layers. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool FlattenAttention(Compilation& compilation);

}  // namespace hearth
