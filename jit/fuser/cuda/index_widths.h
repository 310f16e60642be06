// Which i64 values of a kernel code may compute in 32 bits, in a launch that kernel_image.h allows to: where rounds and
// buffers have no more than kMostNarrowElements.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

enum class IndexWidth : uint8_t {
  kWide,    // 64 bits
  kNarrow,  // the value fits: sizes, indices of loops, what is computed of them within bounds
  kModulo,  // only the low 32 bits are needed: the value is only part of addresses
};

// By value; of other dtypes than i64, kWide.
std::vector<IndexWidth> IndexWidthsIn(const Kernel& kernel, const Loop& loop_at_top);

// An operation that gives the low bits of its result from the low bits of its operands.
bool IsModular(Opcode opcode);

}  // namespace hearth::fuser
