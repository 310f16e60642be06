// Calls like those that a model gets most, with arguments made up for them: what the version that takes its place is
// run with before it serves.
#pragma once

#include <ATen/core/function_schema.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "jit/analysis/argument_spec.h"
#include "jit/executor/model_executor.h"
#include "jit/runtime.h"

namespace hearth {

// Makes arguments of these facts, whose tensors have sizes, for these parameters: contiguous tensors on the CPU with
// random numbers in [0, 1) of floating point and zeros of any other type, alone or in a list, tuple or dict by strings;
// None; and defaults in place of other values. Null for what is none of these: its values matter, and nobody knows
// them.
std::optional<std::function<Arguments()>> ArgumentMaker(std::span<const ArgumentFacts> facts,
                                                        std::span<const c10::Argument> parameters);

// As Model::frequent_calls says it.
std::vector<FrequentCall> FrequentCalls(const ModelExecutor& executor, size_t most);

}  // namespace hearth
