// Which back end makes what of a kernel, by the target's text: "cuda:..." is CudaTarget's, any other HostTarget's.
#pragma once

#include <string>
#include <string_view>

#include "jit/fuser/image/kernel_image.h"
#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

// The kernel is well-formed. Throws what the back ends throw: generate.h, generate_cuda.h.
KernelImage GenerateFor(const Kernel& kernel, std::string_view target);

// For people: a kernel's "loops", "llvm", "asm" or "image" for a target, or its "cuda" for any. Throws
// std::runtime_error for what a target has none of.
std::string Show(std::string_view what, const Kernel& kernel, std::string_view target);

}  // namespace hearth::fuser
