// A linear layer with a constant weight, and an activation right after it that nobody else's use is in the way of,
// become one node: hearth::linear. Its float32 weight is turned beforehand, so that the elements of a column lie side
// by side, or packed for large products, where this machine multiplies clearly faster so: that is tried out once in a
// process, some 30 ms of the first compiler's thread, which rests in between. Not for graphs that may record gradients.
// Returns whether the graph changed.
#pragma once

#include "jit/ir/graph.h"

namespace hearth {

class DerivedConstants;

// The weights must not be written by any method of the model.
bool PackLinears(Graph& graph, DerivedConstants& derived);

}  // namespace hearth
