// Exchanges a parallel loop with the reductions inside it where the elements of neighbouring rounds of the parallel
// loop are neighbours in memory, and those of the reduction are not: sums of columns. LLVM vectorises innermost loops
// only.
//
//   parallel j < n { ...; %r = reduce i < m { x[i, j] ... }; ... }
//   →
//   parallel block < ceil(n / 256) {
//     parallel jj { ... }                            what comes before
//     parallel jj { r[jj] = identity }
//     sequential i < m { parallel jj { r[jj] = r[jj] + x[i, block * 256 + jj] ... } }
//     parallel jj { ... }                            what comes after
//   }
//
// with 0 <= jj < min(256, n - block * 256). What one part computes for another goes through local buffers. Parallel
// loops stay as they are that touch local buffers, or have inside them other loops than such reductions, reductions
// with loops inside, or arg-reductions (SplitArgReductions goes first). Gives a draft (rewriting.h).
#pragma once

#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

void InterchangeReductions(Kernel& draft);

}  // namespace hearth::fuser
