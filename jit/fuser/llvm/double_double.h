// Sums and products of twice the precision, as unevaluated sums of two Scalars (T. J. Dekker, "A Floating-Point
// Technique for Extending the Available Precision", 1971).
#pragma once

#include "jit/fuser/llvm/llvm_scalar.h"

namespace hearth::fuser {

struct DoubleDouble {
  LlvmScalar high;
  LlvmScalar low;
};

// a + b exactly, where |a| >= |b|.
inline DoubleDouble FastTwoSum(LlvmScalar a, LlvmScalar b) {
  const LlvmScalar sum = a + b;
  return {sum, b - (sum - a)};
}

// a + b exactly.
inline DoubleDouble TwoSum(LlvmScalar a, LlvmScalar b) {
  const LlvmScalar sum = a + b;
  const LlvmScalar b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

// a * b exactly.
inline DoubleDouble TwoProduct(LlvmScalar a, LlvmScalar b) {
  const LlvmScalar product = a * b;
  return {product, ProductTail(a, b, product)};
}

inline DoubleDouble Multiply(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble product = TwoProduct(a.high, b.high);
  return FastTwoSum(product.high, product.low + MulAdd(a.high, b.low, a.low * b.high));
}

// |a| >= |b|.
inline DoubleDouble Add(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble sum = FastTwoSum(a.high, b.high);
  return FastTwoSum(sum.high, sum.low + (a.low + b.low));
}

}  // namespace hearth::fuser
