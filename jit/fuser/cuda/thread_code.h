// Statements of one thread: instructions, and loops whose rounds it computes one after the other.
#pragma once

#include <string>

#include "jit/fuser/cuda/loop_code.h"
#include "jit/fuser/cuda/vector_accesses.h"
#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

void EmitThreadBody(LoopCode& code, const Body& body, const VectorScope& scope);

// Nothing of a constant. Throws Unsupported for an operation that there is no expression for.
void EmitInstruction(LoopCode& code, const Instruction& instruction, const VectorScope& scope);

// Begins the loop over every `step`th round from `first` on.
void BeginLoop(LoopCode& code, const Loop& loop, const std::string& first, const std::string& step);

}  // namespace hearth::fuser
