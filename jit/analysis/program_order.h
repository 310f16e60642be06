// In which order the nodes of a graph run, as far as the text tells: each node has a place before what is in its blocks
// and one behind it.
#pragma once

#include <cstddef>
#include <unordered_map>

#include "jit/ir/graph.h"

namespace hearth {

// Of the nodes that are there when it is made, blocks' return nodes included.
class ProgramOrder {
 public:
  explicit ProgramOrder(const Graph& graph);

  size_t Begin(const Node& node) const { return places_.at(&node).begin; }
  size_t End(const Node& node) const { return places_.at(&node).end; }
  // Whether they stand in different branches of an If, so that no run of that If comes to both.
  static bool AreExclusive(const Node& a, const Node& b);
  // Whether `a` may run before `b` in one round of whatever loops are around both.
  bool MayPrecede(const Node& a, const Node& b) const { return End(a) < Begin(b) && !AreExclusive(a, b); }

 private:
  struct Places {
    size_t begin;
    size_t end;
  };
  void Number(const Block& block);

  size_t next_ = 0;
  std::unordered_map<const Node*, Places> places_;
};

// Whether each run of `outer`'s nodes comes to a node in `inner`, which is that block or one inside of it, at most
// once: there are only branches between.
bool IsSameRound(const Block& inner, const Block& outer);

}  // namespace hearth
