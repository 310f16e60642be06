// A branch around a loop, for what is to run once before its first round and only if it has one.
#pragma once

#include "jit/ir/graph.h"

namespace hearth {

// Whether `loop` has a first round, as nodes at the insertion point of `graph`, which is before it; null: it has one,
// by its constants.
Value* HasFirstRound(Graph& graph, const Node& loop);

// A branch on `condition` at the insertion point of `graph`, which is before `loop`: what comes after the loop is given
// what the branch gives, that is what the loop gives or, in the second block, what it begins with. The loop itself is
// left where it stands, to be moved to the end of the first block.
Node* BranchAroundLoop(Graph& graph, Node* loop, Value* condition);

}  // namespace hearth
