#include "jit/kernels/transposition.h"

#include <algorithm>

#include "jit/kernels/target.h"

#define HEARTH_LOOPS "jit/kernels/transposition_loops.h"
#include "jit/kernels/for_both_vectors.h"

namespace hearth::kernels {

void CopyTransposed(const float* from, int64_t from_stride, float* to, int64_t to_stride, int64_t rows,
                    int64_t columns) {
  (HasAvx512() ? avx512::CopyTransposedInTiles : avx2::CopyTransposedInTiles)(from, from_stride, to, to_stride, rows,
                                                                              columns);
}

}  // namespace hearth::kernels
