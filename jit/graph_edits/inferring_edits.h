// Nodes that a pass makes while it goes on asking for facts: those of what it made are known at once.
#pragma once

#include <c10/core/MemoryFormat.h>

#include <cstdint>

#include "jit/analysis/value_fact_table.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/graph.h"
#include "jit/ir/symbols.h"

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

  // `x` itself where it is known to have the dtype. `like`: as `Operate` takes it.
  Value* InDtype(Value* x, c10::ScalarType dtype, const Node* like) const {
    if (facts_.Of(*x).dtype == dtype) return x;
    Value* no = Constant(false);
    return Infer(Operate(graph_, c10::aten::to, "dtype",
                         {x, Constant(static_cast<int64_t>(dtype)), no, no, Constant(c10::IValue())}, like));
  }

  // `x` in the default order: itself where it lies so, else a copy.
  Value* Contiguous(Value* x, const Node* like = nullptr) const {
    Value* format = Constant(static_cast<int64_t>(c10::MemoryFormat::Contiguous));
    return Infer(Operate(graph_, c10::aten::contiguous, "", {x, format}, like));
  }

 private:
  Graph& graph_;
  ValueFactTable& facts_;
};

}  // namespace hearth
