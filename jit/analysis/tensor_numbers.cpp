#include "jit/analysis/tensor_numbers.h"

#include <ATen/core/grad_mode.h>
#include <ATen/core/jit_type.h>
#include <ATen/core/stack.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "jit/definitions/node_effects.h"
#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"

namespace hearth {
namespace {

// Of arithmetic within arithmetic.
constexpr int kMostDepth = 64;

// What sizes are computed with.
bool IsArithmetic(Symbol kind) {
  static const std::array kKinds = {
      c10::prim::NumToTensor, c10::aten::add,          c10::aten::sub,       c10::aten::rsub,   c10::aten::mul,
      c10::aten::div,         c10::aten::floor_divide, c10::aten::remainder, c10::aten::ceil,   c10::aten::floor,
      c10::aten::neg,         c10::aten::clamp,        c10::aten::clamp_min, c10::aten::maximum};
  return std::ranges::find(kKinds, kind) != kKinds.end();
}

bool TakesNumber(const Node& node) {
  static const std::array kKinds = {c10::aten::Int, c10::aten::Float, c10::aten::Bool, c10::aten::IntImplicit,
                                    c10::aten::FloatImplicit};
  return std::ranges::find(kKinds, node.kind()) != kKinds.end() && node.op() != nullptr && node.inputs().size() == 1 &&
         node.input()->type()->kind() == c10::TypeKind::TensorType;
}

bool IsOneNumber(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == at::kStrided && !tensor.is_meta() && !tensor.is_quantized() &&
         !tensor.requires_grad() && tensor.dim() == 0;
}

}  // namespace

std::optional<c10::IValue> TensorNumbers::TakenBy(const Node& node) {
  if (!TakesNumber(node)) return {};
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
  if (!IsArithmetic(maker.kind()) || maker.op() == nullptr || maker.outputs().size() != 1) return {};
  torch::jit::Stack stack;
  for (const Value* input : maker.inputs()) {
    if (input->type()->kind() == c10::TypeKind::TensorType) {
      const std::optional<at::Tensor>& number = Of(*input, depth + 1);
      if (!number) return {};
      stack.emplace_back(*number);
    } else {
      const c10::IValue* constant = ConstantOf(*input);
      if (constant == nullptr || !(constant->isScalar() || constant->isNone() || constant->isString())) return {};
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
