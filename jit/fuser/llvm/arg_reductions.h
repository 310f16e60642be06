// Makes arg-reductions of two loops that LLVM vectorises: what the extreme is, and the least index where it is. One
// loop that finds both is not vectorised and takes a comparison's latency for each element.
//
//   %6 = reduce %4 < %1 { ... yield arg_maximum %5 }
//   →
//   %m = reduce %4 < %1 { ... yield maximum %5 }
//   %p = reduce %i < %1 { ... %s = select (%5' == %m or %5' is NaN), %i, largest; yield minimum %s }
//   %6 = select %p == largest, 0, %p
//
// For loops without loops or stores inside; others stay. Gives a draft (rewriting.h).
#pragma once

#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

void SplitArgReductions(Kernel& draft);

}  // namespace hearth::fuser
