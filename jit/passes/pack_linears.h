// A linear layer with a constant weight, and an activation right after it that nobody else's use is in the way of,
// become one node: hearth::linear. Its float32 weight gets the format beforehand that is fastest on this machine for
// the rows that the layer is likely given (weight_formats.h). Not for graphs that may record gradients. Returns whether
// the graph changed.
#pragma once

#include <span>

#include "jit/ir/graph.h"

namespace hearth {

class DerivedConstants;
class UnitEffects;
struct ArgumentFacts;

// `arguments` as in fold_facts.h; `effects` tells what calls do; null: anything. The weights must not be written by any
// method of the model.
bool PackLinears(Graph& graph, std::span<const ArgumentFacts> arguments, const UnitEffects* effects,
                 DerivedConstants& derived);

}  // namespace hearth
