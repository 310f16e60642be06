// exp and what is made of it. x = n ln(2) + r with ln(2) in two parts (Cody and Waite), expm1(r) by a polynomial, and a
// multiplication by 2^n, by two factors where the result may be subnormal. n is found by adding 1.5 * 2^23 or 2^52, in
// whose low bits it then stands: a conversion to an integer is undefined for NaN and infinity, and slower.
#include <cmath>

#include "jit/fuser/llvm/math.h"
#include "jit/support/math_polynomials.h"

namespace hearth::fuser {
namespace {

struct ExpConstants {
  double shift;  // rounds to an integer what is added to it
  double log2_e;
  double ln2_high, ln2_low;  // the first part times n is exact
  int mantissa_bits, bias;
  int raised;  // how much a power that would be subnormal is raised
};
constexpr ExpConstants kExp32 = {12582912.0, 1.44269504088896341, 0.693359375, -2.12194440054690583e-4, 23, 127, 64};
constexpr ExpConstants kExp64 = {
    6755399441055744.0, 1.44269504088896341, 6.93147180369123816490e-01, 1.90821492927058770002e-10, 52, 1023, 256};

const ExpConstants& ExpConstantsOf(const LlvmScalar& x) { return x.width() == 64 ? kExp64 : kExp32; }

LlvmScalar Expm1Tail(LlvmScalar r) {
  return r.is_double() ? Polynomial(r, polynomials::kExpm164) : Polynomial(r, polynomials::kExpm132);
}

// Good enough for 1 + r + r^2 tail.
LlvmScalar ExpTail(LlvmScalar r) {
  return r.is_double() ? Polynomial(r, polynomials::kExpm164) : Polynomial(r, polynomials::kExp32);
}

// The number that was added to the shift, as an integer.
LlvmScalar IntegerOfShifted(LlvmScalar shifted, double shift) { return BitsOf(shifted) - BitsOf(shifted.Like(shift)); }

ExpParts ReduceExp(LlvmScalar x, LlvmScalar (*tail)(LlvmScalar)) {
  const ExpConstants& constants = ExpConstantsOf(x);
  const LlvmScalar shifted = MulAdd(x, constants.log2_e, constants.shift);
  const LlvmScalar n = shifted - constants.shift;
  const LlvmScalar r = MulAdd(n, -constants.ln2_low, MulAdd(n, -constants.ln2_high, x));
  return {IntegerOfShifted(shifted, constants.shift), MulAdd(r * r, tail(r), r)};
}

// expm1 of what is within the range, without regard to -0.
LlvmScalar Expm1Within(LlvmScalar x) {
  const ExpParts parts = ReduceExp(x);
  const LlvmScalar scale = PowerOfTwo(parts.n - 1);
  return 2.0 * MulAdd(scale, parts.expm1, scale - 0.5);
}

// e^|x| / 2 and e^-|x| / 2 without overflow before sinh and cosh overflow.
struct HalfExps {
  LlvmScalar up;
  LlvmScalar down;
};
HalfExps HalvesOf(LlvmScalar magnitude) {
  const ExpParts parts = ReduceExp(ClampAbove(magnitude, magnitude.is_double() ? 711.0 : 90.0));
  const LlvmScalar up = (parts.expm1 + 1.0) * PowerOfTwo(parts.n - 2) * 2.0;
  return {up, 0.25 / up};
}

}  // namespace

LlvmScalar PowerOfTwo(LlvmScalar n) {
  const ExpConstants& constants = ExpConstantsOf(n);
  return FloatOfBits((n + constants.bias) << constants.mantissa_bits);
}

LlvmScalar ScaleHalf(LlvmScalar twice, LlvmScalar n) {
  // 2^(n - 1) is finite for all results that are. Where it would be subnormal, by way of a larger one. No product is
  // subnormal but a result that is: a vector with one takes many times as long, and a mask would put one into each.
  const ExpConstants& constants = ExpConstantsOf(n);
  const LlvmScalar small = Less(n, 2 - constants.bias);
  const LlvmScalar scaled = twice * PowerOfTwo(Select(small, n + constants.raised, n) - 1);
  const LlvmScalar rounds_to_zero = Less(n, -constants.bias - constants.mantissa_bits - 1);
  const LlvmScalar lowered = Select(rounds_to_zero, twice.Like(0.0), twice.Like(std::ldexp(1.0, -constants.raised)));
  return scaled * Select(small, lowered, twice.Like(1.0));
}

ExpParts ReduceExp(LlvmScalar x) { return ReduceExp(x, Expm1Tail); }

LlvmScalar Exp(LlvmScalar x) {
  // Beyond the bounds the result is 0 or infinity as at them, and 0 by ScaleHalf's shortest way.
  const LlvmScalar bounded =
      x.is_double() ? ClampAbove(ClampBelow(x, -748.0), 710.0) : ClampAbove(ClampBelow(x, -106.0), 89.0);
  const auto [n, expm1] = ReduceExp(bounded, ExpTail);
  return ScaleHalf(MulAdd(expm1, 2.0, 2.0), n);
}

LlvmScalar Exp2(LlvmScalar x) {
  const ExpConstants& constants = ExpConstantsOf(x);
  const LlvmScalar bounded =
      x.is_double() ? ClampAbove(ClampBelow(x, -1078.0), 1025.0) : ClampAbove(ClampBelow(x, -153.0), 129.0);
  const LlvmScalar shifted = bounded + constants.shift;
  const LlvmScalar r = (bounded - (shifted - constants.shift)) * 0.693147180559945309;
  return ScaleHalf(MulAdd(MulAdd(r * r, ExpTail(r), r), 2.0, 2.0), IntegerOfShifted(shifted, constants.shift));
}

LlvmScalar Expm1(LlvmScalar x) {
  const LlvmScalar bounded =
      x.is_double() ? ClampAbove(ClampBelow(x, -40.0), 710.0) : ClampAbove(ClampBelow(x, -20.0), 89.0);
  return CopySign(Expm1Within(bounded), x);
}

LlvmScalar Sinh(LlvmScalar x) {
  const LlvmScalar magnitude = Absolute(x);
  // Where it is small, by expm1: e^x - e^-x would cancel.
  const LlvmScalar expm1 = Expm1Within(ClampAbove(magnitude, 2.0));
  const LlvmScalar small = 0.5 * (expm1 + expm1 / (expm1 + 1.0));
  const HalfExps halves = HalvesOf(magnitude);
  return CopySign(Select(Less(magnitude, 2.0), small, halves.up - halves.down), x);
}

LlvmScalar Cosh(LlvmScalar x) {
  const HalfExps halves = HalvesOf(Absolute(x));
  return halves.up + halves.down;
}

LlvmScalar Tanh(LlvmScalar x) {
  // From the bounds on it rounds to 1.
  const LlvmScalar magnitude = ClampAbove(Absolute(x), x.is_double() ? 20.0 : 10.0);
  if (x.is_double()) {
    const LlvmScalar expm1 = Expm1Within(magnitude + magnitude);
    return CopySign(expm1 / (expm1 + 2.0), x);
  }
  const LlvmScalar square = x * x;
  const LlvmScalar small = MulAdd(x * square, Polynomial(square, polynomials::kTanh32), x);
  const auto [n, expm1] = ReduceExp(magnitude + magnitude, ExpTail);
  const LlvmScalar scale = PowerOfTwo(n);
  const LlvmScalar large = 1.0 - 2.0 / (MulAdd(scale, expm1, scale) + 1.0);
  return CopySign(Select(Less(magnitude, 0.625), small, large), x);
}

}  // namespace hearth::fuser
