// hearth::fused, which plans call in the place of a group of operators: its first operand is the kernel that was made
// of them (fuser/runtime/fused_kernel.h).
#include <array>

#include "jit/fuser/runtime/fused_kernel.h"
#include "jit/operators/native_support.h"

namespace hearth::native {
namespace {

// fused(Any kernel, ...) -> Tensor, and fused.several(Any kernel, ...) -> ...
void Fused(NativeArguments in, IValue* out) {
  const std::span<const IValue* const> operands(in.values, in.count);
  fuser::FusedKernel::Of(operands).Run(operands, out);
}

constexpr NativeEntry kEntries[] = {{"hearth::fused", Fused}, {"hearth::fused.several", Fused}};

}  // namespace

std::span<const NativeEntry> FusedNatives() { return kEntries; }

}  // namespace hearth::native
