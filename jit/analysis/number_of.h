// The number, or the numbers, that a Value is in every run.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "jit/analysis/written_memory.h"
#include "jit/definitions/node_effects.h"
#include "jit/ir/graph.h"

namespace hearth {

// A constant integer.
inline std::optional<int64_t> IntegerOf(const Value& value) {
  const c10::IValue* constant = ConstantOf(value);
  return constant != nullptr && constant->isInt() ? std::optional(constant->toInt()) : std::nullopt;
}

// A constant list of integers.
inline std::optional<std::vector<int64_t>> IntegersOf(const Value& value) {
  const c10::IValue* constant = ConstantOf(value);
  return constant != nullptr && constant->isIntList() ? std::optional(constant->toIntVector()) : std::nullopt;
}

// A trace has numbers as tensors without dimensions, which lie where the model was loaded to.
inline std::optional<double> NumberOf(const Value& value, const WrittenMemory& memory) {
  const c10::IValue* constant = ConstantOf(value);
  if (constant == nullptr) return {};
  if (constant->isTensor()) {
    const at::Tensor& tensor = constant->toTensor();
    const bool number = tensor.defined() && tensor.dim() == 0 && !tensor.is_meta() && !tensor.is_complex();
    return number && !memory.MayBeWritten(value) ? std::optional(tensor.item<double>()) : std::nullopt;
  }
  if (constant->isInt()) return static_cast<double>(constant->toInt());
  return constant->isDouble() ? std::optional(constant->toDouble()) : std::nullopt;
}

}  // namespace hearth
