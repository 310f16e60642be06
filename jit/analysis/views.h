// Nodes that rearrange a tensor's elements.
#pragma once

#include "jit/analysis/value_fact_table.h"
#include "jit/ir/graph.h"

namespace hearth {

// Whether a node gives its first operand's elements, in their sequence, in other sizes: view (but not as another
// dtype), reshape, flatten or unflatten.
bool IsReshape(const Node& node);

// Whether a node, which by its kind might throw (definitions/node_effects.h), rearranges a tensor of which facts show
// that this can be done. `facts` is that of the node's graph.
bool IsSoundView(const Node& node, ValueFactTable& facts);

}  // namespace hearth
