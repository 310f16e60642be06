// The back end of the fuser for NVIDIA's GPUs: Kernel → loops as a GPU runs them well → CUDA C++ → NVRTC → a cubin in
// an image, whose host side is the CPU's back end's. This file is the list of the steps. No GPU is needed.
//
// The same kernel, target and version of NVRTC give the same bytes. Takes tens of milliseconds; threads may call at the
// same time.
#pragma once

#include <string>

#include "jit/fuser/cuda/cuda_target.h"
#include "jit/fuser/image/kernel_image.h"
#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

// The kernel is well-formed (verifier.h). Throws Unsupported (ir/unsupported.h) for what there is no code for, which
// cuda_source.h tells, and NvrtcError.
KernelImage GenerateCuda(const Kernel& kernel, const CudaTarget& target);

// For people: the source.
std::string CudaSource(const Kernel& kernel);

}  // namespace hearth::fuser
