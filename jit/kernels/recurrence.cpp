#include "jit/kernels/recurrence.h"

#include <algorithm>
#include <array>
#include <utility>

#include "jit/kernels/target.h"
#include "jit/kernels/vector_avx2.h"
#include "jit/kernels/vector_avx512.h"

namespace hearth::kernels {

namespace avx512 {
namespace {
HEARTH_AVX512_BEGIN
#include "jit/kernels/recurrence_loops.h"
HEARTH_AVX512_END
}  // namespace
}  // namespace avx512

namespace avx2 {
namespace {
HEARTH_AVX2_BEGIN
#include "jit/kernels/recurrence_loops.h"
HEARTH_AVX2_END
}  // namespace
}  // namespace avx2

int64_t PackedGates(int64_t gates, int64_t hidden, int64_t columns) {
  return HasAvx512() ? avx512::PackedGates(gates, hidden, columns) : avx2::PackedGates(gates, hidden, columns);
}

void PackGates(const float* weight, int64_t gates, int64_t hidden, int64_t columns, float* to) {
  (HasAvx512() ? avx512::PackGates : avx2::PackGates)(weight, gates, hidden, columns, to);
}

void ProjectInputs(const RecurrentCell& cell, const float* input, int64_t stride, int64_t rows, float* projected) {
  (HasAvx512() ? avx512::ProjectInputs : avx2::ProjectInputs)(cell, input, stride, rows, projected);
}

void RunCell(const RecurrentCell& cell, const RecurrentSteps& steps) {
  (HasAvx512() ? avx512::RunCell : avx2::RunCell)(cell, steps);
}

}  // namespace hearth::kernels
