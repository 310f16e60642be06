#include "jit/analysis/tensor_numbers.h"

#include <ATen/core/grad_mode.h>
#include <ATen/core/jit_type.h>
#include <ATen/core/stack.h>

#include <exception>
#include <utility>

#include "jit/definitions/definition.h"
#include "jit/definitions/node_effects.h"
#include "jit/definitions/taken_number.h"
#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"

namespace hearth {
namespace {

// Of arithmetic within arithmetic.
constexpr int kMostDepth = 64;

// Whether what it gives follows from its operands, in the same way in every run.
bool Computes(const Node& node) {
  if (node.op() == nullptr || node.outputs().size() != 1 || EffectsOf(node).any()) return false;
  if (node.kind() == c10::prim::NumToTensor) return true;
  const OperatorDefinition& definition = DefinitionOf(node.kind());
  if (definition.uninitialized || definition.reads_mode || definition.seeds) return false;
  switch (definition.kind) {
    case OperatorClass::kPointwise:
    case OperatorClass::kReduction:
    case OperatorClass::kConversion:
    case OperatorClass::kView:
      return true;
    default:
      return false;
  }
}

bool IsOneNumber(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == at::kStrided && !tensor.is_meta() && !tensor.is_quantized() &&
         !tensor.requires_grad() && tensor.dim() == 0;
}

}  // namespace

std::optional<c10::IValue> TensorNumbers::TakenBy(const Node& node) {
  if (TakenNumberOf(node) == TakenNumber::kNone) return {};
  const std::optional<at::Tensor>& tensor = Of(*node.input(), 0);
  if (!tensor) return {};
  try {
    torch::jit::Stack stack{*tensor};
    node.op()->Run(stack);
    return std::move(stack.at(0));
  } catch (const std::exception&) {
    return {};
  }
}

const std::optional<at::Tensor>& TensorNumbers::Of(const Value& tensor, int depth) {
  const auto known = known_.find(&tensor);
  if (known != known_.end()) return known->second;
  std::optional<at::Tensor> computed = Compute(tensor, depth);
  return known_.emplace(&tensor, std::move(computed)).first->second;
}

std::optional<at::Tensor> TensorNumbers::Compute(const Value& tensor, int depth) {
  if (depth > kMostDepth || memory_.MayBeWritten(tensor)) return {};
  if (const c10::IValue* constant = ConstantOf(tensor)) {
    if (!constant->isTensor() || !IsOneNumber(constant->toTensor())) return {};
    return constant->toTensor();
  }
  const Node& maker = *tensor.node();
  if (!Computes(maker)) return {};
  torch::jit::Stack stack;
  for (const Value* input : maker.inputs()) {
    if (input->type()->kind() == c10::TypeKind::TensorType) {
      const std::optional<at::Tensor>& number = Of(*input, depth + 1);
      if (!number) return {};
      stack.emplace_back(*number);
    } else {
      const c10::IValue* constant = ConstantOf(*input);
      const bool is_known = constant != nullptr && (constant->isScalar() || constant->isNone() ||
                                                    constant->isString() || constant->isDevice());
      if (!is_known) return {};
      stack.push_back(*constant);
    }
  }
  try {
    const at::NoGradGuard no_gradients;
    maker.op()->Run(stack);
    if (!IsOneNumber(stack.at(0).toTensor())) return {};
    computed_.push_back(&tensor);
    return stack[0].toTensor();
  } catch (const std::exception&) {
    return {};
  }
}

}  // namespace hearth
