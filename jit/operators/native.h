// Native implementations of hot or repaired operators: called unboxed by the interpreter, found by schema name when an
// Operator is made.
#pragma once

#include <span>
#include <string_view>

#include "jit/operators/operator.h"

namespace hearth {

struct NativeEntry {
  std::string_view name;  // qualified name with overload: "aten::add.int", "aten::len.t", "aten::warn"
  NativeFunction function;
};

// All of them; the memory is static.
std::span<const NativeEntry> NativeOperators();

}  // namespace hearth
