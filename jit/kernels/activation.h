// What may follow a product, element by element.
#pragma once

#include <cstdint>

namespace hearth::kernels {

enum class Activation { kNone, kRelu, kLeakyRelu, kGelu, kGeluTanh, kSilu, kSigmoid, kTanh, kHardSwish };

// In place, on `rows` rows of `columns` elements, each `stride` elements after the one before. `slope` is kLeakyRelu's.
// Only where HasVectors().
void Activate(Activation activation, float slope, float* elements, int64_t rows, int64_t columns, int64_t stride);

}  // namespace hearth::kernels
