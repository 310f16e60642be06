#include "jit/kernels/activation.h"

#include "jit/kernels/target.h"
#include "jit/kernels/vector_avx2.h"
#include "jit/kernels/vector_avx512.h"

namespace hearth::kernels {

namespace avx512 {
namespace {
HEARTH_AVX512_BEGIN
#include "jit/kernels/activation_loops.h"
HEARTH_AVX512_END
}  // namespace
}  // namespace avx512

namespace avx2 {
namespace {
HEARTH_AVX2_BEGIN
#include "jit/kernels/activation_loops.h"
HEARTH_AVX2_END
}  // namespace
}  // namespace avx2

void Activate(Activation activation, float slope, float* elements, int64_t rows, int64_t columns, int64_t stride) {
  (HasAvx512() ? avx512::ActivateAll : avx2::ActivateAll)(activation, slope, elements, rows, columns, stride);
}

}  // namespace hearth::kernels
