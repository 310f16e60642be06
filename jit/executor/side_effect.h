// What a run of a method does beside answering, told to people: where a caller can tell two runs with the same
// arguments from one, or from none.
#pragma once

#include <string>

#include "jit/analysis/effects.h"
#include "jit/analysis/state_accesses.h"
#include "jit/ir/graph.h"

namespace hearth {

// "writes the model's state (prim::SetAttr at model.py:12)"; empty if it only reads it.
std::string StateWriteOf(const MethodState& state);

// "draws random numbers (aten::rand at model.py:12)", of the first such effect: drawing or seeding random numbers,
// acting on the world, writing what every run reads. Empty if there is none; writing to the run's own arguments is
// none.
std::string SideEffectOf(const Graph& graph, const UnitEffects& effects);

// Why what one run of a plan asks of a GPU does not stand for runs with arguments alike: "draws random numbers
// (aten::rand at model.py:12)", "writes its arguments". Empty where it does, as far as no state is touched.
std::string ReasonNotToRecord(const Graph& graph, const UnitEffects& effects);

}  // namespace hearth
