// Which tensors a concatenation joins.
#pragma once

#include "jit/ir/graph.h"

namespace hearth {

// The node of the list, written out, whose tensors `node` joins in new memory (aten::cat); null if it does no such
// thing.
Node* JoinedList(const Node& node);

}  // namespace hearth
