#include "jit/kernels/recurrence.h"

#include <algorithm>
#include <array>
#include <utility>

#include "jit/kernels/target.h"

#define HEARTH_LOOPS "jit/kernels/recurrence_loops.h"
#include "jit/kernels/for_both_vectors.h"

namespace hearth::kernels {

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
