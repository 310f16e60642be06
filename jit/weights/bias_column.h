// A layer's bias for the other side of its product.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace hearth {

class DerivedConstants;

// [numbers, 1], of a bias of one dimension. Null if there is no room for it.
std::optional<at::Tensor> BiasColumn(const at::Tensor& bias, DerivedConstants& derived);

}  // namespace hearth
