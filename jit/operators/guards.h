// Arguments that LibTorch's kernels trust, though they come from the model: indices into memory that nobody compares
// with the memory's size, memory that may be another device's. Such an operator is given a guard, which looks at the
// arguments first and raises.
#pragma once

#include <torch/csrc/jit/runtime/operator.h>

#include <string_view>

namespace hearth {

// The operation with its guard before it, if the operator has one.
torch::jit::Operation Guarded(std::string_view name, torch::jit::Operation operation);

}  // namespace hearth
