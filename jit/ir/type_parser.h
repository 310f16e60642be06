// Reads a type as TorchScript writes it: "Tensor", "Optional[List[int]]", "Dict[str, __torch__.Foo]", "t|None". One
// parser for annotations in source, pickles' type tags and IR text.
#pragma once

#include <ATen/core/jit_type_base.h>

#include <functional>
#include <string>
#include <string_view>

namespace hearth {

// Gives the class, interface, named tuple or enum of a qualified name; null if there is none.
using ClassResolver = std::function<c10::TypePtr(const std::string& qualified_name)>;

struct TypeParseError {
  size_t offset;        // into the text
  std::string message;  // what was expected and what came
};

// Throws TypeParseError; callers turn it into the error of their own kind of text. Thread-safe. Containers of an
// archive's classes are made afresh, never taken from LibTorch's caches, which would keep the archive's unit alive.
c10::TypePtr ParseType(std::string_view text, const ClassResolver& resolve_class);

}  // namespace hearth
