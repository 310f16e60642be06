// One form for operators on numbers that can be written in two: constants stand on the right, other operands in the
// order of their making, and comparisons are mirrored for that (`3 < n` is `n > 3`). So whoever looks for equal nodes
// (common_subexpressions) or for a constant (fold_facts) sees one form.
//
// Of ints, floats, bools and strings, where the answer is exactly the same and nothing can be raised. Not of tensors:
// what strides a result has may go by the first operand. Returns whether the graph changed.
#pragma once

namespace hearth {

class Compilation;

bool OrderOperands(Compilation& compilation);

}  // namespace hearth
