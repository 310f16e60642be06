// Operators whose meaning changed between releases. An archive says which version it was written with; a call in it
// that fits an overload's old schema means the old behaviour, which a function in today's operators stands for.
#pragma once

#include <cstdint>

#include "jit/frontend/operator_table.h"
#include "jit/operators/operator.h"

namespace hearth {

// What stands for the overload in an archive of that version: its old schema and the function to inline. An empty
// Candidate where the overload means what it always did. Thread-safe.
Candidate FindUpgrader(const Operator& op, int64_t version);

}  // namespace hearth
