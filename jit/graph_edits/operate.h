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
// A node of the operator `op`, which has one result, in the place of `like`, whose name, type and inlined call it has.
Value* OperateInstead(Graph& graph, const Operator& op, std::span<Value* const> inputs, const Node& like);
// A node of the operator that `like`, which has one output, calls, on other inputs.
Value* OperateLike(Graph& graph, const Node& like, std::span<Value* const> inputs);

}  // namespace hearth
