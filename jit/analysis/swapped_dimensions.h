// Transpositions, however they are written.
#pragma once

#include <cstddef>

#include "jit/ir/graph.h"

namespace hearth {

// Whether a node gives its first operand, which has that rank, with these two dimensions swapped and all others in
// their places: transpose or permute, with constants.
bool SwapsDimensions(const Node& node, size_t rank, size_t first, size_t second);

}  // namespace hearth
