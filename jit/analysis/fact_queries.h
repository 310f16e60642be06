// Questions about values whose answers are known from facts.
#pragma once

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "jit/analysis/value_fact_table.h"
#include "jit/ir/graph.h"

namespace hearth {

// What `node` gives, if it has one output and that is the same constant in every run; never a value with memory.
std::optional<c10::IValue> AnswerFromFacts(const Node& node, ValueFactTable& facts);

// Whether `node` gives back its first input: a conversion or copy to what that tensor is already, n + 0.
bool GivesItsInput(const Node& node, const ValueFactTable& facts);

// Whether two plain tensors have the same dtype, device and sizes in every run.
bool HaveSameSizes(const ValueFacts& a, const ValueFacts& b);

// What sizes may well be; null where one may be anything.
std::optional<std::vector<int64_t>> LikelySizes(const SizeAlgebra& algebra, const std::optional<KnownSizes>& sizes);
// How many rows a tensor may well have, all of its dimensions but the last taken together.
std::optional<int64_t> LikelyRows(ValueFactTable& facts, const Value& tensor);

// Whether two tensors of the same sizes have the same strides in every run.
bool HaveSameStrides(const ValueFacts& a, const ValueFacts& b);

}  // namespace hearth
