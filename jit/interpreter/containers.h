// Making and testing values for instructions that no registered operator does.
#pragma once

#include <ATen/core/class_type.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <span>
#include <vector>

namespace hearth {

// `keys_and_values` alternate; a key that comes again keeps its place and takes the later value.
c10::IValue MakeDict(const c10::Type& type, std::vector<c10::IValue> keys_and_values);
c10::IValue MakeObject(const c10::TypePtr& type);
bool IsInstance(const c10::IValue& value, std::span<const c10::TypePtr> types);
// The tensor's elements as a value of `type`: nested lists of numbers as deep as the tensor has dimensions, or one
// number. Throws if depth or kind of number do not fit.
c10::IValue TensorToList(const at::Tensor& tensor, const c10::TypePtr& type);

}  // namespace hearth
