// Rows of numbers that become columns. Only where HasVectors().
#pragma once

#include <cstdint>

namespace hearth::kernels {

// Number `j` of row `i` of `to` is number `i` of row `j` of `from`, for each i below `rows` and j below `columns`.
// Strides are from row to row. The two have nothing in common.
void CopyTransposed(const float* from, int64_t from_stride, float* to, int64_t to_stride, int64_t rows,
                    int64_t columns);

}  // namespace hearth::kernels
