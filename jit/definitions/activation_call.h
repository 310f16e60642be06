// An activation, as a node calls it, that a layer before it may have as its epilogue.
#pragma once

#include <string>

#include "jit/definitions/definition.h"
#include "jit/ir/graph.h"

namespace hearth {

// Its word in an epilogue (libraries/packed_weight.h), also where the node writes its operand in place; empty if it has
// none.
std::string EpilogueOf(const Node& node);

}  // namespace hearth
