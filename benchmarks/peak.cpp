#include "benchmarks/peak.h"

#define HEARTH_LOOPS "benchmarks/peak_loops.h"
#include "jit/kernels/for_both_vectors.h"

namespace hearth::benchmarks {

Work MultiplyAndAddForAWhile() {
  constexpr int64_t kSteps = 40'000;
  const auto begin = std::chrono::steady_clock::now();
  const int64_t operations =
      kernels::HasAvx512() ? kernels::avx512::MultiplyAndAdd(kSteps) : kernels::avx2::MultiplyAndAdd(kSteps);
  return {operations, std::chrono::steady_clock::now() - begin};
}

}  // namespace hearth::benchmarks
