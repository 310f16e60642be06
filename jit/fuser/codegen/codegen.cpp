#include "jit/fuser/codegen/codegen.h"

#include <stdexcept>

#include "jit/fuser/cuda/generate_cuda.h"
#include "jit/fuser/cuda/prepare.h"
#include "jit/fuser/ir/printer.h"
#include "jit/fuser/llvm/generate.h"

namespace hearth::fuser {
namespace {

std::string ShowForCpu(std::string_view what, const Kernel& kernel, const HostTarget& target) {
  if (what == "loops") return Print(PrepareForCpu(kernel));
  if (what == "llvm") return GenerateLlvm(kernel, target);
  if (what == "asm") return GenerateAssembly(kernel, target);
  throw std::runtime_error("there is no " + std::string(what) + " for " + target.text());
}

std::string ShowForCuda(std::string_view what, const Kernel& kernel, const CudaTarget& target) {
  if (what == "loops") return Print(PrepareForCuda(kernel));
  throw std::runtime_error("there is no " + std::string(what) + " for " + target.text());
}

}  // namespace

KernelImage GenerateFor(const Kernel& kernel, std::string_view target) {
  if (target.starts_with(kCudaPrefix)) return GenerateCuda(kernel, CudaTarget::OfText(target));
  return Generate(kernel, HostTarget::OfText(target));
}

std::string Show(std::string_view what, const Kernel& kernel, std::string_view target) {
  if (what == "image") return SerializeKernelImage(GenerateFor(kernel, target));
  if (what == "cuda") return CudaSource(kernel);
  if (target.starts_with(kCudaPrefix)) return ShowForCuda(what, kernel, CudaTarget::OfText(target));
  return ShowForCpu(what, kernel, HostTarget::OfText(target));
}

}  // namespace hearth::fuser
