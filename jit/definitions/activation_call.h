// An activation, as a node calls it, that a layer before it may have as its epilogue.
#pragma once

#include <string>

#include "jit/definitions/definition.h"
#include "jit/ir/graph.h"

namespace hearth {

// Its name as `epilogue` of the operator's definition says, also where the node writes its operand in place; empty if
// the layer has no such epilogue.
std::string EpilogueOf(const Node& node, std::string_view OperatorDefinition::*epilogue);

}  // namespace hearth
