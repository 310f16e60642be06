// Whether passes may rely on fused kernels for a GPU.
#pragma once

#include <c10/core/DeviceType.h>

#include "jit/compiler/compilation.h"
#include "jit/fuser/runtime/kernel_source.h"

namespace hearth {

// Whether pass `fuse` makes kernels of a plan, and these are for a GPU.
inline bool MakesGpuKernels(const Compilation& compilation) {
  const fuser::KernelSource* kernels = compilation.inputs().kernels;
  return kernels != nullptr && kernels->device() == c10::kCUDA;
}

}  // namespace hearth
