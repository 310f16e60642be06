// The back end of the fuser for CPUs: Kernel → LLVM IR → machine code, as an image that needs no library. This file is
// the list of the steps.
//
// The same kernel and target give the same bytes. Takes tens of milliseconds; each call is on its own, so threads may
// call at the same time.
#pragma once

#include <string>

#include "jit/fuser/image/kernel_image.h"
#include "jit/fuser/ir/kernel.h"
#include "jit/fuser/llvm/host_target.h"

namespace hearth::fuser {

// The kernel is well-formed (verifier.h). Throws Unsupported (ir/unsupported.h) for what there is no code for, and
// LinkError where the code would need something outside of it.
KernelImage Generate(const Kernel& kernel, const HostTarget& target);

// An image with the function `sizes` alone: what the host needs of a kernel whose loops run elsewhere. It says what it
// says of the kernel as it is; nothing is prepared.
KernelImage GenerateSizes(const Kernel& kernel, const HostTarget& target);

// The first step, as a kernel of its own: loops in the form that vectorises well. It computes the same, but that it may
// have fewer or other loops at the top.
Kernel PrepareForCpu(const Kernel& kernel);

// For people: the optimised LLVM IR, and the assembly.
std::string GenerateLlvm(const Kernel& kernel, const HostTarget& target);
std::string GenerateAssembly(const Kernel& kernel, const HostTarget& target);

}  // namespace hearth::fuser
