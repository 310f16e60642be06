// Weights, or biases, of several layers as one tensor.
#pragma once

#include <ATen/core/ivalue.h>

#include <vector>

namespace hearth {

class DerivedConstants;

// The tensors one below the other; they have the same sizes but for the first. None if there is no room for it.
c10::IValue JoinedRows(const std::vector<at::Tensor>& tensors, DerivedConstants& derived);

}  // namespace hearth
