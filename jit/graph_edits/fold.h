// Runs an operator while compiling, on constants.
//
// Only a list of cheap operators over numbers, strings, devices, enums and None; never one that could run long, make
// something big, crash in LibTorch (int64's minimum divided by -1, say), write, or answer differently another time. An
// operator that fails is left to fail at run time.
#pragma once

#include <ATen/core/ivalue.h>

#include <optional>
#include <span>

#include "jit/operators/operator.h"

namespace hearth {

// The single result, or nothing if the operator is not to be run now. Thread-safe.
std::optional<c10::IValue> FoldOperator(const Operator& op, std::span<const c10::IValue* const> inputs);

// Whether an operator only asks a list or dict, its first input: how long it is, whether it has a key or element, and
// which.
bool IsQuestion(c10::Symbol op);

// The same of a question to one that nobody writes, if the answer is a number, string, device, enum or None.
std::optional<c10::IValue> FoldQuestion(const Operator& op, std::span<const c10::IValue* const> inputs);

}  // namespace hearth
