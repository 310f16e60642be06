// erf and erfc. erf of f32 is N. Juffa's ("Efficient faithfully-rounded implementation of error function erff()",
// Stack Overflow 35148198): a polynomial for small arguments, 1 - exp(another one) for large ones. The others have
// exp(-x^2) erfcx(x), where (1 + 2 x) erfcx(x) is a polynomial in (x - 4) / (x + 4) (after M. Shepherd and J.
// Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x in 0 <= x < infinity", Mathematics of Computation
// 36, 1981).
#include "jit/fuser/llvm/math.h"
#include "jit/fuser/llvm/math_polynomials.h"

namespace hearth::fuser {
namespace {

constexpr double kErfSmall32[] = {1.28379166e-1,  -3.76125336e-1, 1.12819925e-1,
                                  -2.67681349e-2, 4.99119423e-3,  -5.96761703e-4};

// For |x| < 0.93 in f32, 1 in f64.
LlvmScalar SmallErf(LlvmScalar x) {
  if (x.is_double()) return x * Polynomial(x * x, polynomials::kErf64);
  return MulAdd(Polynomial(x * x, kErfSmall32), x, x);
}

LlvmScalar ErfOfFloat(LlvmScalar x) {
  const LlvmScalar small = SmallErf(x);
  // erf(4) rounds to 1.
  const LlvmScalar t = ClampAbove(Absolute(x), 4.0);
  LlvmScalar sum = MulAdd(t, -1.72853470e-5, 3.83197126e-4);
  sum = MulAdd(sum, t * t, MulAdd(t, -3.88396438e-3, 2.42546219e-2));
  sum = MulAdd(sum, t, -1.06777877e-1);
  sum = MulAdd(sum, t, -6.34846687e-1);
  sum = MulAdd(sum, t, -1.28717512e-1);
  sum = MulAdd(sum, t, -t);
  const ExpParts parts = ReduceExp(sum);
  const LlvmScalar scale = PowerOfTwo(parts.n);
  const LlvmScalar large = CopySign(1.0 - MulAdd(scale, parts.expm1, scale), x);
  return Select(Less(0.927734375, t), large, small);
}

// erfc of 0 <= x <= 28.
LlvmScalar ErfcOfMagnitude(LlvmScalar x) {
  const LlvmScalar t = (x - 4.0) / (x + 4.0);
  const LlvmScalar erfcx =
      (x.is_double() ? Polynomial(t, polynomials::kErfcx64) : Polynomial(t, polynomials::kErfcx32)) /
      MulAdd(x, 2.0, 1.0);
  // exp(-(square + tail)), as exp(-square) (1 - tail): an error in x^2 is one in the result.
  const LlvmScalar square = x * x;
  const LlvmScalar tail = ProductTail(x, x, square);
  const ExpParts parts = ReduceExp(-square);
  const LlvmScalar twice = MulAdd(parts.expm1, 2.0, 2.0);
  return ScaleHalf(MulAdd(twice, -tail, twice) * erfcx, parts.n);
}

}  // namespace

LlvmScalar Erf(LlvmScalar x) {
  if (!x.is_double()) return ErfOfFloat(x);
  const LlvmScalar magnitude = ClampAbove(Absolute(x), 6.0);
  const LlvmScalar small = SmallErf(x);
  const LlvmScalar large = CopySign(1.0 - ErfcOfMagnitude(magnitude), x);
  return Select(Less(1.0, magnitude), large, small);
}

LlvmScalar Erfc(LlvmScalar x) {
  const LlvmScalar magnitude = Absolute(x);
  const LlvmScalar large = ErfcOfMagnitude(ClampAbove(magnitude, x.is_double() ? 28.0 : 11.0));
  const LlvmScalar with_sign = Select(Less(x, 0.0), 2.0 - large, large);
  // The other way near 0, where the result's last bits would be lost; of NaN, too, which the comparisons do not take.
  return Select(Less(0.5, magnitude), with_sign, 1.0 - SmallErf(x));
}

}  // namespace hearth::fuser
