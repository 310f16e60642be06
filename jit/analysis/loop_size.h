// How large code is, for passes that copy loops or that ask whether a guess is worth a guard.
#pragma once

#include <cstddef>
#include <cstdint>

#include "jit/ir/graph.h"

namespace hearth {

// What costs something when it runs, with what is in its blocks.
size_t NumNodes(const Block& block);

// How many nodes a loop that goes round so often adds where it is unrolled.
size_t NodesAdded(const Block& body, int64_t rounds);

// Whether a loop is small enough to be unrolled if it is known to go round so often.
bool MayUnroll(const Node& loop, int64_t rounds);

}  // namespace hearth
