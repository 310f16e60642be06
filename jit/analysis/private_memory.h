// Which writes in place are as good as new values: of memory that nobody else can see.
//
// Such a write's operand is used by it alone, and is memory that was made for it or that came so from another such
// write. A class of values that is written in any other way is shared.
#pragma once

#include <cstddef>
#include <unordered_set>

#include "jit/analysis/aliases.h"
#include "jit/ir/graph.h"

namespace hearth {

// Refers to the alias classes of the graph; stays right while nodes are replaced by others that give the same.
class PrivateMemory {
 public:
  PrivateMemory(const Graph& graph, const AliasClasses& aliases);
  // Whether the node writes its first operand, and that is as good as giving a new value.
  bool IsPrivateWrite(const Node& node) const { return private_writes_.count(&node) != 0; }
  // Whether the memory of a value is written where somebody may see it. Values made since the start belong to nobody
  // else.
  bool IsShared(const Value& value) const { return shared_.count(aliases_.ClassOf(value)) != 0; }

 private:
  void Visit(const Block& block);
  bool IsOnlyFor(const Value& value, const Node& user) const;

  const AliasClasses& aliases_;
  std::unordered_set<size_t> shared_;  // alias classes
  std::unordered_set<const Node*> private_writes_;
};

}  // namespace hearth
