// For this room's tests: native operators by their names, with "." before an overload's.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

#include "jit/operators/native.h"
#include "jit/operators/registry.h"

namespace hearth {

inline c10::IValue RunByName(const std::string& name, const std::vector<c10::IValue>& arguments) {
  const size_t dot = name.find('.');
  const Operator* op = OperatorRegistry::Global().Find(c10::Symbol::fromQualString(name.substr(0, dot)),
                                                       dot == std::string::npos ? "" : name.substr(dot + 1));
  std::vector<const c10::IValue*> pointers;
  for (const c10::IValue& argument : arguments) pointers.push_back(&argument);
  c10::IValue result;
  op->native()({pointers.data(), pointers.size()}, &result);
  return result;
}

inline at::Tensor CallNative(const char* name, const std::vector<c10::IValue>& arguments) {
  return RunByName(name, arguments).toTensor();
}

}  // namespace hearth
