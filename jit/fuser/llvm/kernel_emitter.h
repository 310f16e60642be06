// Kernel → LLVM IR: the functions of kernel_image.h, as scalar code that says all that LLVM's vectorisers want to know.
//
// Each loop of the kernel is one loop. Parallel and reducing loops say that their rounds are independent; buffers, that
// they do not overlap; sums, that they may be associated in any order; arithmetic for addresses, that it does not
// overflow. Nothing else is relaxed: NaN, infinities and zeros are as the kernel says.
//
// The functions of a loop at the top are two: `loop_<k>`, which finds the buffers, and the one that it calls, which has
// each of them as a parameter, because only parameters can be said not to overlap.
#pragma once

#include <string>

#include "jit/fuser/ir/kernel.h"

namespace llvm {
class Module;
}

namespace hearth::fuser {

class HostTarget;

inline constexpr char kSizesName[] = "sizes";
std::string NameOfLoop(size_t index);

// Adds the functions to `module`, whose target is set. The kernel is well-formed. Throws Unsupported.
void EmitKernel(const Kernel& kernel, const HostTarget& target, llvm::Module& module);

// Adds `sizes` alone.
void EmitSizes(const Kernel& kernel, const HostTarget& target, llvm::Module& module);

}  // namespace hearth::fuser
