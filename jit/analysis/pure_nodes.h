// Which nodes are pure: what they give is the same whenever and however often they run, and nobody can tell whether two
// of their users have one object or two.
//
// A node is pure if it has no effect, what it reads is not written by anybody (of a tensor whose sizes it asks for: not
// given others), and what it gives is neither written, returned nor handed out. Where gradients may be switched on or
// off on the way, no node that gives tensors is. A pure node may raise. What gives the same whenever it runs but is not
// the same object then, as what is returned, may still move.
#pragma once

#include "jit/analysis/written_memory.h"
#include "jit/ir/graph.h"

namespace hearth {

// Refers to the Graph; stays right while nodes are moved, destroyed and replaced by others that give the same.
class PureNodes {
 public:
  // `memory` is of the same graph and must outlive this.
  PureNodes(const Graph& graph, const WrittenMemory& memory);
  bool IsPure(const Node& node) const;
  bool MayMove(const Node& node) const;

 private:
  bool ReadsWhatIsWritten(const Node& node, const Value& input) const;
  bool StaysInside(const Value& value) const;

  const WrittenMemory& memory_;
  const bool records_gradients_;
};

}  // namespace hearth
