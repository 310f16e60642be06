// What one thread of this processor multiplies and adds at most: the limit that kernels are held against.
#pragma once

#include <chrono>
#include <cstdint>

namespace hearth::benchmarks {

struct Work {
  int64_t operations;  // of float32; a multiplication and an addition are two
  std::chrono::duration<double, std::nano> time;
};

// Runs fused multiply-adds of the widest vectors that kernels/target.h has here, on registers alone, for about a tenth
// of a millisecond. The processor needs to have vectors.
Work MultiplyAndAddForAWhile();

}  // namespace hearth::benchmarks
