// erf and erfc. erf of f32 is N. Juffa's (support/erf_polynomials.h). The others have exp(-x^2) erfcx(x), where
// (1 + 2 x) erfcx(x) is a polynomial in (x - 4) / (x + 4) (after M. Shepherd and J. Laframboise, "Chebyshev
// approximation of (1 + 2x) exp(x^2) erfc x in 0 <= x < infinity", Mathematics of Computation 36, 1981).
#include <iterator>

#include "jit/fuser/llvm/math.h"
#include "jit/support/erf_polynomials.h"
#include "jit/support/math_polynomials.h"

namespace hearth::fuser {
namespace {

// For |x| < 0.93 in f32, 1 in f64.
LlvmScalar SmallErf(LlvmScalar x) {
  if (x.is_double()) return x * Polynomial(x * x, polynomials::kErf64);
  return MulAdd(Polynomial(x * x, polynomials::kErfSmall32), x, x);
}

LlvmScalar ErfOfFloat(LlvmScalar x) {
  const LlvmScalar small = SmallErf(x);
  // erf(4) rounds to 1.
  const LlvmScalar t = ClampAbove(Absolute(x), 4.0);
  constexpr auto& a = polynomials::kErfLarge32;
  LlvmScalar sum = MulAdd(MulAdd(t, a[0], a[1]), t * t, MulAdd(t, a[2], a[3]));
  for (size_t i = 4; i < std::size(a); ++i) sum = MulAdd(sum, t, a[i]);
  sum = MulAdd(sum, t, -t);
  const ExpParts parts = ReduceExp(sum);
  const LlvmScalar scale = PowerOfTwo(parts.n);
  const LlvmScalar large = CopySign(1.0 - MulAdd(scale, parts.expm1, scale), x);
  return Select(Less(polynomials::kErfSplit32, t), large, small);
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
