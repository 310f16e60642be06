// Numbers that the instructions at a kernel's top make of constants alone.
#pragma once

#include <cstdint>
#include <optional>

#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

// Of an i64 that is a constant of the prologue, or a product of such; nothing of others.
std::optional<int64_t> ConstantAtTop(const Kernel& kernel, ValueId value);

}  // namespace hearth::fuser
