// Kernel → Kernel: loops at the top in the form that a GPU runs well. It computes the same.
//
// A loop at the top whose body is instructions and then one parallel loop becomes one loop over the rounds of both:
//
//   parallel i < m { ...; parallel j < n { ... } }
//   →
//   parallel ij < max(m, 0) * n { i = ij / n; j = ij - i * n; ...; ... }
//
// unless the instructions store, or load what the inner loop stores, or a local buffer is touched, or n is computed in
// the outer loop.
#pragma once

#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

// The kernel is well-formed, and so is what this gives.
Kernel PrepareForCuda(const Kernel& kernel);

}  // namespace hearth::fuser
