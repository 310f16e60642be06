// What was computed before from the same inputs is not computed again, and equal constants are one.
//
// A node may go if it has no effect, what it reads is not written by anybody (of a tensor whose sizes it asks for: not
// given others), and what it gives is neither written, returned nor handed out: two objects that somebody could tell
// apart stay two. Where gradients may be switched on or off on the way, tensors stay as they are. Walks blocks with
// scoped tables, so that what is kept dominates what goes; closures have tables of their own. Returns whether the graph
// changed.
//
// Value numbering over dominators (Briggs, Cooper, Simpson 1997).
#pragma once

#include "jit/ir/graph.h"

namespace hearth {

class UnitEffects;

// `effects` tells what calls do; null: anything.
bool EliminateCommonSubexpressions(Graph& graph, const UnitEffects* effects = nullptr);

}  // namespace hearth
