// Whether something is in a block, however deep.
#pragma once

#include "jit/ir/graph.h"

namespace hearth {

// Whether `predicate` is true of a node in the block or in the blocks of its nodes, closures too.
template <typename Predicate>
bool AnyNode(const Block& block, const Predicate& predicate) {
  for (const Node* node : block) {
    if (predicate(*node)) return true;
    for (const Block* inner : node->blocks()) {
      if (AnyNode(*inner, predicate)) return true;
    }
  }
  return false;
}

inline bool Contains(const Block& block, Symbol kind) {
  return AnyNode(block, [&](const Node& node) { return node.kind() == kind; });
}

}  // namespace hearth
