// What a spec's argument (argument_spec.h) tells of the Value that it is in a graph.
#pragma once

#include "jit/analysis/argument_spec.h"
#include "jit/definitions/value_facts.h"

namespace hearth {

ValueFacts FactsOfArgument(const ArgumentFacts& argument);

}  // namespace hearth
