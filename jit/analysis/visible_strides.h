// Whether anybody can tell which strides a tensor has, in dimensions of size 1 or in all. Nothing that an operator
// computes depends on these, but what it gives may have them in turn, and answers and FrameStates show them.
#pragma once

#include "jit/analysis/value_fact_table.h"
#include "jit/ir/graph.h"

namespace hearth {

// Whether such strides of `value`, of whose order in memory no exact one is known (definitions/stride_order.h), may
// show in what leaves the graph, where somebody asks for them, or by what writes to a copy that may be no copy. Follows
// all that is made of it up to results whose order is exact whatever these strides are.
bool StridesMayShow(const Value& value, ValueFactTable& facts);

// The same of the strides in all dimensions of `value`, whatever is known of its order: also operators that raise for
// some orders show them, and such as draw random numbers or write others than the elements in their place.
bool OrderMayShow(const Value& value, ValueFactTable& facts);

// The same of the operands of `user`, as far as it and what is made of its results may show them.
bool OrderMayShowBehind(const Node& user, ValueFactTable& facts);

}  // namespace hearth
