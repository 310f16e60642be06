#include "jit/fuser/cuda/generate_cuda.h"

#include "jit/fuser/cuda/cuda_source.h"
#include "jit/fuser/cuda/device_loops.h"
#include "jit/fuser/cuda/nvrtc.h"
#include "jit/fuser/cuda/prepare.h"
#include "jit/fuser/ir/printer.h"
#include "jit/fuser/llvm/generate.h"

namespace hearth::fuser {

KernelImage GenerateCuda(const Kernel& kernel, const CudaTarget& target) {
  const Kernel prepared = PrepareForCuda(kernel);
  const std::string source = EmitCudaSource(prepared);
  KernelImage image = GenerateSizes(prepared, HostTarget::Native());
  image.target = target.text();
  image.kernel_hash = HashOf(Print(kernel));
  image.device_code = CompileWithNvrtc(source, target);
  image.device_loops = DeviceLoopsOf(prepared);
  return image;
}

std::string CudaSource(const Kernel& kernel) { return EmitCudaSource(PrepareForCuda(kernel)); }

}  // namespace hearth::fuser
