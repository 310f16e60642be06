// Nodes whose block is code of its own: it sees its parameters and nothing around it, and runs another time.
#pragma once

#include "jit/ir/graph.h"
#include "jit/ir/symbols.h"

namespace hearth {

// Of them those whose block a run runs as a task of its own.
inline bool IsTask(const Node& node) { return node.kind() == sym::kFork || node.kind() == sym::kAwaitable; }

inline bool IsClosure(const Node& node) { return IsTask(node) || node.kind() == sym::kArena; }

}  // namespace hearth
