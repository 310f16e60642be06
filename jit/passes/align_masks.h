// On a GPU, in half precision, the rows of an attention's mask, one for each query, begin at multiples of eight
// numbers: LibTorch's kernels want them so, and its operator copies a mask of other rows in every call.
//
//   attention(q, k, v, constant)                   attention(q, k, v, slice(constant with longer rows, -1, 0, keys))
//   attention(q, k, v, constant.repeat(n, 1))      the same of the constant with longer rows, repeated
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
