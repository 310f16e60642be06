// How passes make nodes of operators.
#pragma once

#include <initializer_list>
#include <span>

#include "jit/ir/graph.h"

namespace hearth {

// A node of the operator of that name and overload, which must be registered and have one result, at the insertion
// point of `graph`. Its output has the type that the schema says. `like`: the node in whose place it stands, if it is
// one, whose inlined call it has. Gives its output.
Value* Operate(Graph& graph, Symbol symbol, const char* overload, std::initializer_list<Value*> inputs,
               const Node* like = nullptr);
// A node of the operator that `like`, which has one output, calls, on other inputs.
Value* OperateLike(Graph& graph, const Node& like, std::span<Value* const> inputs);

}  // namespace hearth
