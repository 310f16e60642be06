// Nodes that a pass makes while it goes on asking for facts: those of what it made are known at once.
#pragma once

#include "jit/analysis/value_fact_table.h"
#include "jit/ir/graph.h"

namespace hearth {

// Of one pass; graph and table outlive it.
class InferringEdits {
 public:
  InferringEdits(Graph& graph, ValueFactTable& facts) : graph_(graph), facts_(facts) {}

  // Has the facts of what the value's node gives inferred. Gives the value.
  Value* Infer(Value* value) const {
    facts_.Infer(*value->node());
    return value;
  }

  // At the graph's insertion point.
  template <typename T>
  Value* Constant(const T& constant) const {
    return Infer(graph_.InsertConstant(constant));
  }

 private:
  Graph& graph_;
  ValueFactTable& facts_;
};

}  // namespace hearth
