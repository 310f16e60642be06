// The order in memory of what an operator computes of several operands, element by element.
#pragma once

#include <optional>
#include <vector>

#include "jit/definitions/size_algebra.h"
#include "jit/definitions/value_facts.h"

namespace hearth {

// Tensors in the order in which the operator hands them to LibTorch's TensorIterator.
using Operands = std::vector<const ValueFacts*>;

// Of new memory for the result, whose sizes are those to which all are broadcast. As TensorIterator has it: the first
// operand that has two dimensions of more than one element says how these are nested in the result. Unknown where the
// facts do not tell.
StrideOrder OrderOfAll(SizeAlgebra& algebra, Operands operands, const std::optional<KnownSizes>& sizes);

}  // namespace hearth
