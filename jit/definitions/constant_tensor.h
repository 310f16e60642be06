// A tensor that a graph has as a constant: a weight, mostly.
#pragma once

#include <ATen/core/Tensor.h>

#include "jit/definitions/node_effects.h"
#include "jit/definitions/value_facts.h"
#include "jit/ir/graph.h"

namespace hearth {

// The defined tensor that `value` is, if it is a constant; null otherwise.
inline const at::Tensor* ConstantTensor(const Value& value) {
  const c10::IValue* constant = ConstantOf(value);
  if (constant == nullptr || !constant->isTensor() || !constant->toTensor().defined()) return nullptr;
  return &constant->toTensor();
}

inline bool IsPlainOnCpu(const at::Tensor& tensor, at::ScalarType dtype) {
  return tensor.device().is_cpu() && tensor.scalar_type() == dtype && IsPlain(tensor);
}

}  // namespace hearth
