// What hearth::fused gives, by the signature of its kernel.
#include <vector>

#include "jit/definitions/definition_lists.h"
#include "jit/definitions/shared_rules.h"
#include "jit/fuser/runtime/fused_kernel.h"

namespace hearth {
namespace {

StrideOrder OrderOf(const std::vector<uint8_t>& nesting) {
  std::vector<size_t> from(nesting.size());
  for (size_t i = 0; i < nesting.size(); ++i) from[nesting[i]] = i;
  return StrideOrder::Default(true).Permuted(from);
}

void Fused(Call& call) {
  const c10::IValue* constant = call.constant(0);
  const fuser::FusedKernel* kernel = constant == nullptr ? nullptr : fuser::FusedKernel::Unwrap(*constant);
  if (kernel == nullptr || kernel->signature().outputs.size() != call.num_outputs()) return;
  const fuser::KernelSignature& signature = kernel->signature();
  const auto size_of = [&](int16_t extent) -> KnownSize {
    if (extent == fuser::KernelSignature::kOne) return 1;
    const fuser::KernelSignature::Extent& where = signature.extents[extent];
    if (where.input == fuser::KernelSignature::kNoInput) return where.size;
    const ValueFacts& facts = call.in(signature.inputs[where.input].operand);
    return facts.sizes && where.dimension < facts.sizes->size() ? (*facts.sizes)[where.dimension] : KnownSize();
  };
  for (size_t i = 0; i < signature.outputs.size(); ++i) {
    const fuser::KernelSignature::Tensor& output = signature.outputs[i];
    KnownSizes sizes;
    for (const int16_t extent : output.extents) sizes.push_back(size_of(extent));
    ValueFacts& facts = call.out(i);
    facts = {};
    facts.kind = ValueFacts::Kind::kTensor;
    facts.dtype = output.dtype;
    facts.device = call.in(signature.inputs.front().operand).device;
    facts.requires_grad = false;
    facts.plain = true;
    facts.sizes = std::move(sizes);
    call.GiveOrder(OrderOf(output.nesting), i);
  }
}

constexpr OperatorDefinition kDefinitions[] = {
    {.name = "hearth::fused", .kind = OperatorClass::kPointwise, .facts = Fused},
};

}  // namespace

std::span<const OperatorDefinition> FusedDefinitions() { return kDefinitions; }

}  // namespace hearth
