// Which dtypes an instruction may have: the one place where the rules that operation.h states are written as code. The
// builder and the verifier ask here.
#pragma once

#include <span>
#include <string>

#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

// The result's dtype of an operation that has neither a buffer nor a dtype of its own to choose (no constant, cast or
// bitcast). There are as many operands as it takes.
Dtype ResultDtypeOf(Opcode opcode, std::span<const Dtype> operands);

// What is wrong with the number and the dtypes of an instruction's operands, its own dtype, its buffer or its constant,
// as half a sentence; empty if nothing is. `operands` are the dtypes of its operands; `buffer` is null unless the
// instruction touches memory.
std::string ProblemOf(const Instruction& instruction, std::span<const Dtype> operands, const Buffer* buffer);

}  // namespace hearth::fuser
