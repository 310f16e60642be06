// What may follow a product, element by element.
#pragma once

#include <cstdint>
#include <limits>

namespace hearth::kernels {

enum class Activation { kNone, kRelu, kRelu6, kLeakyRelu, kGelu, kGeluTanh, kSilu, kSigmoid, kTanh, kHardSwish };

// What a kernel does as it stores its numbers, and what is left for Activate: of relu and relu6 nothing but bounds,
// which are infinite for all others. A NaN stays.
struct ActivationSteps {
  float least, most;
  Activation later;
};
inline ActivationSteps StepsOf(Activation activation) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (activation == Activation::kRelu) return {0, kInfinity, Activation::kNone};
  if (activation == Activation::kRelu6) return {0, 6, Activation::kNone};
  return {-kInfinity, kInfinity, activation};
}

// In place, on `rows` rows of `columns` elements, each `stride` elements after the one before. `slope` is kLeakyRelu's.
// Only where HasVectors().
void Activate(Activation activation, float slope, float* elements, int64_t rows, int64_t columns, int64_t stride);

}  // namespace hearth::kernels
