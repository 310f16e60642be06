// Which forks, and waits for them, nobody can tell from ones that ran at another time, twice, or not at all.
//
// A fork is pure if its body draws no random numbers and acts on nothing but the values that it makes, and if nobody
// writes what it captures or holds as constants: neither the graph nor the baseline after a bailout. It may raise, and
// may write in place what it has made itself: only who has waited for it sees that. A wait is pure if all futures that
// it may be given are pure forks'. Nothing is pure in a graph in which runs take turns at their model's state, for a
// fork that is left behind by a bailout may still read; nor where gradients may be recorded.
#pragma once

#include <unordered_set>
#include <vector>

#include "jit/analysis/written_memory.h"
#include "jit/ir/graph.h"

namespace hearth {

// Refers to the Graph; stays right while nodes are moved, destroyed and replaced by others that give the same.
class PureForks {
 public:
  // `memory` is of the same graph and must outlive this.
  PureForks(const Graph& graph, const WrittenMemory& memory);
  // Whether the node is a fork or a wait, and pure.
  bool Contains(const Node& node) const { return pure_.count(&node) != 0; }

 private:
  void FindFutures(const Block& block);
  void MarkUnknown(const Value& value);
  bool IsPureBody(const Block& body) const;
  bool MayBeInPureBody(const Node& node) const;
  bool IsPureWait(const Node& wait) const;
  bool IsSteady(const Value& value) const;

  const AliasClasses& aliases_;
  bool writes_outside_ = false;  // what was there before the run
  std::vector<const Node*> forks_;
  std::vector<const Node*> waits_;
  std::vector<bool> unknown_;  // by alias class: a future in it may be of something else than a pure fork
  std::unordered_set<const Node*> pure_;
};

}  // namespace hearth
