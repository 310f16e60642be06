// Fits what a caller hands over to what a method's schema asks for.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <optional>

#include "jit/runtime.h"

namespace hearth {

// The positional argument list for a method, `self` first, or for a free function, without one: keywords put in their
// places, defaults filled in, values adapted to the declared types as Python's callers expect (an int where a float is
// declared, a tensor of one element where a number is, a list of the declared element type, a plain tuple for a named
// one). Containers are copied only if their
// type has to change. Throws ArgumentError that names the argument, what was expected and what came.
Arguments BindArguments(const c10::FunctionSchema& schema, std::optional<c10::IValue> self, Arguments args,
                        KeywordArguments kwargs);

}  // namespace hearth
