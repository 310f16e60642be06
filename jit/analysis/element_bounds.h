// What is known of the numbers in a tensor however large it is: a trace of a model that was given no mask makes one of
// comparisons such as arange(n) + 0 >= 0, which hold everywhere.
#pragma once

#include <cstdint>
#include <optional>

#include "jit/analysis/value_fact_table.h"
#include "jit/ir/graph.h"

namespace hearth {

// A number that no element of an int64 tensor is below, in any run; null where none is known. No element is above 2^62
// where one is.
std::optional<int64_t> LeastElement(const Value& tensor, const ValueFactTable& facts);

// Whether every element of a bool tensor is true, in any run.
bool IsAllTrue(const Value& tensor, const ValueFactTable& facts);

}  // namespace hearth
