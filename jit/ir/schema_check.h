// Whether a Node's inputs and outputs fit an operator's schema as they stand, without conversions.
#pragma once

#include <string>

#include <ATen/core/function_schema.h>

#include "jit/ir/graph.h"

namespace hearth {

// What does not fit, for people; empty if everything fits. A node gives every argument, defaults too. Thread-safe.
std::string SchemaMismatch(const c10::FunctionSchema& schema, const Node& node);

}  // namespace hearth
