#include "jit/kernels/activation.h"

#include "jit/kernels/target.h"

#define HEARTH_LOOPS "jit/kernels/activation_loops.h"
#include "jit/kernels/for_both_vectors.h"

namespace hearth::kernels {

void Activate(Activation activation, float slope, float* elements, int64_t rows, int64_t columns, int64_t stride) {
  (HasAvx512() ? avx512::ActivateAll : avx2::ActivateAll)(activation, slope, elements, rows, columns, stride);
}

}  // namespace hearth::kernels
