// Operators that write their first operand and give it back (aten::add_), and those that take the same and give a new
// tensor instead (aten::add).
#pragma once

#include "jit/operators/operator.h"

namespace hearth {

// The operator that gives as a new tensor what `op` writes; null if `op` is not one that writes its first operand in
// place and nothing else, or if there is none. What it gives may have another dtype, or be larger.
const Operator* FunctionalForm(const Operator& op);

// The operator that writes to its first operand what `op`, which has no effect, gives; null if there is none.
const Operator* InPlaceForm(const Operator& op);

}  // namespace hearth
