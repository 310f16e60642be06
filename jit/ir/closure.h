// Nodes whose block is code of its own: it sees its parameters and nothing around it, and runs another time.
#pragma once

#include <vector>

#include "jit/ir/graph.h"
#include "jit/ir/symbols.h"

namespace hearth {

// Of them those whose block a run runs as a task of its own.
inline bool IsTask(const Node& node) { return node.kind() == sym::kFork || node.kind() == sym::kAwaitable; }

inline bool IsClosure(const Node& node) { return IsTask(node) || node.kind() == sym::kArena; }

// The nodes of the block and of the blocks within, but closures and what is in these, of which `predicate` is true: in
// their order, those of a node's blocks before the node.
template <typename Predicate>
std::vector<Node*> NodesOutsideClosures(const Block& block, const Predicate& predicate) {
  std::vector<Node*> found;
  for (Node* node : block) {
    if (IsClosure(*node)) continue;
    for (const Block* inner : node->blocks()) {
      const std::vector<Node*> within = NodesOutsideClosures(*inner, predicate);
      found.insert(found.end(), within.begin(), within.end());
    }
    if (predicate(*node)) found.push_back(node);
  }
  return found;
}

}  // namespace hearth
