// Proves of a method, when its archive loads, that the rows of a batch do not depend on each other, or that they do.
#pragma once

#include <ATen/core/function_schema.h>
#include <c10/core/Device.h>

#include <span>

#include "jit/analysis/effects.h"
#include "jit/analysis/written_memory.h"
#include "jit/ir/graph.h"
#include "jit/support/batch_proof.h"

namespace hearth {

struct BatchMethod {
  const Graph& baseline;  // that does nothing but answer (SideEffectOf)
  const c10::FunctionSchema& schema;
  const UnitEffects& effects;
  StateWrites state_writes;  // of the model's methods
  c10::Device device;        // where the arguments are
};

// `arguments`: one for each of the schema's but self. Tensors of which no sizes are known are taken to have all the
// same number of dimensions: the rows are proved to be independent if they are for all such numbers up to 5 (the text
// names those for which they are, if not), and to mix if there is one such tensor alone and they do for all numbers.
// What may be left out (an Optional) is looked at both ways, in all combinations of at most four. The proof is for
// tensors without a size of 0. Costs what making a plan for a CPU costs without its weights and kernels, some times
// over where sizes are not known. What it fails to find out is not known; throws MemoryLimitError alone.
BatchProof ProveBatch(const BatchMethod& method, std::span<const BatchArgument> arguments);

}  // namespace hearth
