// What operators give: facts about a node's outputs from facts about its inputs and from constant inputs, by the rules
// of definitions (definition.h). Nothing is known of what operators without a rule give. What an operator gives when it
// raises is of no concern.
#pragma once

#include <functional>
#include <span>

#include "jit/definitions/value_facts.h"
#include "jit/ir/graph.h"

namespace hearth {

// Fills `outputs`, one for each output of `node`, all unknown before. `facts_of` gives those of an input; `sizes` is
// what their sizes are written in. Thread-safe but for that.
void InferOperator(const Node& node, const std::function<const ValueFacts&(const Value&)>& facts_of, SizeAlgebra& sizes,
                   std::span<ValueFacts> outputs);

// Whether there is a rule for the operator that the node calls.
bool HasFactRule(const Node& node);

// Whether the operator, which writes to a tensor, leaves its sizes, strides, dtype and device as they are.
bool KeepsShape(const Node& node);

}  // namespace hearth
