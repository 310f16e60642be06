// Which additions, subtractions and multiplications of a kernel serve nothing but to find addresses of loads and
// stores, and are made of loop indices, constants and numbers of the top alone. Indices are within sizes wherever
// memory is touched, so these do not overflow, and the vectoriser may know it. Whatever else uses such a number (a
// comparison that guards a kLoadIf, a store) may see a run in which it does overflow: then it does not count.
#pragma once

#include <vector>

#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

// For each value whether it is the result of such an instruction.
std::vector<bool> FindAddressArithmetic(const Kernel& kernel);

}  // namespace hearth::fuser
