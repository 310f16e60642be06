// Which Values a run still needs when it has come to a certain place of a Graph: what is read from there on, on any way
// to the end, and what the loops around the place need for their next round (trip count, trip limit, carried Values).
// Constants are not counted; closures (prim::fork, prim::awaitable) are code of their own and not looked into.
//
// Backward data flow over structured control flow; one walk.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "jit/ir/graph.h"

namespace hearth {

// A place of a graph where a run can be taken up.
struct ResumePlace {
  const Node* node;                // what runs next
  std::vector<const Value*> live;  // what must be there
};

// For each of `places`, nodes of `graph` outside of closures: the Values live just before it, in order of their ids.
std::unordered_map<const Node*, std::vector<const Value*>> LiveValuesBefore(const Graph& graph,
                                                                            std::span<const Node* const> places);

}  // namespace hearth
