// When a run of a method takes up and gives back the parts of its model's state: each part from just before the first
// node that touches it to just after the last one, so that most of a run, which computes, is free of all others.
//
// A step stands at each place where that changes; the node prim::StateStep marks it in the graph.
#pragma once

#include <vector>

#include "jit/analysis/state_accesses.h"
#include "jit/ir/graph.h"

namespace hearth {

struct StatePlan {
  const void* model = nullptr;  // parts of different models are different, but for kGenerators
  struct Step {
    StateAccess taken;      // from here on
    StateAccess remaining;  // not given back before this step: in use, or still to be taken
  };
  std::vector<Step> steps;  // empty: runs of the method need not heed any other
};

// Puts the steps into `graph`, whose accesses `state` gives.
StatePlan InsertStateSteps(Graph* graph, const MethodState& state);

}  // namespace hearth
