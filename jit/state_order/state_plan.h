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
  struct Step {
    StateAccess taken;      // from here on
    StateAccess remaining;  // not given back before this step: in use, or still to be taken
  };
  // The same steps by whose parts they are: the model's own, and the generators (kGenerators), which all models share.
  // Empty where there is nothing of that kind.
  std::vector<Step> model;
  std::vector<Step> generators;

  // Whether runs of the method never wait for any other.
  bool empty() const { return model.empty() && generators.empty(); }
};

// Puts the steps into `graph`, whose accesses `state` gives.
StatePlan InsertStateSteps(Graph* graph, const MethodState& state);

}  // namespace hearth
