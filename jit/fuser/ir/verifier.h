// Checks that a Kernel is what every back end takes it to be, which are the rules of kernel.h and operation.h:
//   - values are numbered from 0 in the order of their definitions and defined once; each is used where it is in scope;
//   - symbols are i64 or f64; the prologue computes and touches no memory; the body is parallel loops;
//   - buffers are inputs, outputs and locals, in this order; sizes and strides are i64 of the top, as many of one as of
//     the other, and locals have no strides; no input is stored to;
//   - operands are as many and of the dtypes that the operation takes, indices as many as the buffer has dimensions;
//   - a reduce has accumulators, which its elements' dtypes fit; what a sequential loop carries keeps its dtype; no
//   loop
//     has what another kind has; not more than kMaxLoopDepth are inside one another.
//
// Linear in the Kernel. Thread-safe for Kernels that nobody changes.
#pragma once

#include <stdexcept>

#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

// what() shows the statement and says what is wrong with it.
class VerifyError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Throws VerifyError at the first thing that is wrong.
void Verify(const Kernel& kernel);

}  // namespace hearth::fuser
