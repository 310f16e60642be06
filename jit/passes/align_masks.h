// On a GPU, in half precision, the rows of an attention's mask, one for each query, begin at multiples of eight
// numbers: LibTorch's kernels want them so, and its operator copies a mask of other rows in every call. They lie in one
// piece: where the mask's strides are others, as those of biases are that a table has for each head, none of its
// kernels takes the mask, and the attention is computed step by step in float32.
//
//   attention(q, k, v, constant)                   attention(q, k, v, slice(constant with longer rows, -1, 0, keys))
//   attention(q, k, v, constant.repeat(n, 1))      the same of the constant with longer rows, repeated
//   attention(q, k, v, bias.permute(2, 0, 1))      attention(q, k, v, bias.permute(2, 0, 1).contiguous())
//
// A mask is followed to what it is computed of, element by element or by views and copies that keep its rows, as far as
// that is known; what is not followed is padded, where that is less than the mask or several attentions share it. What
// is behind a row's keys is read by nobody. Constants with longer rows are made by fold_constant_tensors. Returns
// whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool AlignMasks(Compilation& compilation);

}  // namespace hearth
