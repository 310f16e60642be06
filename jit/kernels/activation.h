// What may follow a product, element by element.
#pragma once

#include <cstdint>
#include <limits>

namespace hearth::kernels {

enum class Activation { kNone, kRelu, kLeakyRelu, kGelu, kGeluTanh, kSilu, kSigmoid, kTanh, kHardSwish };

// What a kernel does as it stores its numbers, and what is left for Activate: of relu nothing but a least number, which
// is minus infinity for all others. A NaN stays.
struct ActivationSteps {
  float least;
  Activation later;
};
inline ActivationSteps StepsOf(Activation activation) {
  if (activation == Activation::kRelu) return {0, Activation::kNone};
  return {-std::numeric_limits<float>::infinity(), activation};
}

// In place, on `rows` rows of `columns` elements, each `stride` elements after the one before. `slope` is kLeakyRelu's.
// Only where HasVectors().
void Activate(Activation activation, float slope, float* elements, int64_t rows, int64_t columns, int64_t stride);

}  // namespace hearth::kernels
