// The readable list of what happens to a method's graph, in order, from the emitted one to a plan. A newcomer to the
// compiler reads pipelines.cpp first.
#pragma once

#include <ATen/core/ivalue.h>

#include <span>

#include "jit/compiler/compilation.h"
#include "jit/ir/graph.h"

namespace hearth {

class UnitEffects;

// At load, of each method alone: from the emitted graph to the baseline, which is inlined, frozen, cleaned; cheap to
// make and always valid. The unit must stay alive as long as the graph.
void BuildBaseline(Compilation& method);

// At load, of the baselines of all methods of a model together, whose first inputs are bound to `self`.
void BuildState(std::span<Graph* const> baselines, const c10::ivalue::Object& self, const UnitEffects& effects);

// From a baseline to what runs as a sample of the calls.
void BuildObserved(Compilation& baseline);

// From a baseline to a plan before it is optimised, of whose Values claims may be made.
void BuildPlan(Compilation& baseline);

// From a baseline to a graph that is looked at and not run: with what facts about the arguments decide, control flow
// unrolled, and writes in place as values, as far as that goes.
void BuildValues(Compilation& baseline);

// Makes such a plan better, for calls whose arguments have the compilation's facts.
void OptimizePlan(Compilation& plan);

}  // namespace hearth
