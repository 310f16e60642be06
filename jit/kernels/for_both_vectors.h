// Compiles the loops of the file that HEARTH_LOOPS names for each kind of vectors: what they declare is in
// hearth::kernels::avx512 and hearth::kernels::avx2, for the including file alone. To be included outside of
// namespaces, once for each file of loops, so there is no guard.

#include "jit/kernels/target.h"
#include "jit/kernels/vector_avx2.h"
#include "jit/kernels/vector_avx512.h"

namespace hearth::kernels::avx512 {
namespace {
HEARTH_AVX512_BEGIN
#include HEARTH_LOOPS
HEARTH_AVX512_END
}  // namespace
}  // namespace hearth::kernels::avx512

namespace hearth::kernels::avx2 {
namespace {
HEARTH_AVX2_BEGIN
#include HEARTH_LOOPS
HEARTH_AVX2_END
}  // namespace
}  // namespace hearth::kernels::avx2

#undef HEARTH_LOOPS
