// Where a kernel's buffers are in a function, and how their elements are addressed. Buffer 7 is the pointer b7:
//   inputs, outputs   fields of the function's arguments
//   local buffers     in the block's dynamic shared memory, one after the other, each warp's in a part of its own; or
//                     arrays in each thread's registers (row_plan.h)
#pragma once

#include <set>
#include <span>
#include <string>

#include "jit/fuser/cuda/loop_code.h"
#include "jit/fuser/cuda/vector_accesses.h"
#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

std::string NameOfBuffer(BufferId buffer);

// The loop's local buffers are in registers: all, or none.
bool HasLocalsInRegisters(const LoopCode& code);
// The loop's local buffers that are in shared memory.
std::set<BufferId> LocalsInScratch(const LoopCode& code);
// Declares pointers to these. The scratch is as kernel_image.h lays it out.
void DeclareLocalsInScratch(LoopCode& code);

// The element in memory, as an lvalue. Of a local buffer in registers: the part of the scope's chunk, whatever the
// indices.
std::string ElementOf(const LoopCode& code, BufferId buffer, std::span<const ValueId> indices,
                      const VectorScope& scope);
// The element as a value of its dtype: loaded, or made of `element`, an expression for it as it is in memory.
std::string LoadOf(const LoopCode& code, BufferId buffer, std::span<const ValueId> indices, const VectorScope& scope);
std::string AsLoaded(const LoopCode& code, BufferId buffer, const std::string& element);

}  // namespace hearth::fuser
