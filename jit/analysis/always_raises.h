// Whether a run that comes to a block raises there by design.
#pragma once

#include "jit/ir/graph.h"
#include "jit/ir/symbols.h"

namespace hearth {

inline bool AlwaysRaises(const Block& block) {
  for (const Node* node : block) {
    if (node->kind() == sym::kRaiseException) return true;
  }
  return false;
}

}  // namespace hearth
