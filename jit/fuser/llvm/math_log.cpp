// log and what is made of it. x = m 2^k with sqrt(1/2) <= m < sqrt(2), f = m - 1, and log1p(f) = f + tail(f): for f32
// by a polynomial in f, for f64 by one in s = f / (2 + f), as fdlibm's e_log.c. Constants that are multiplied with k
// have a first part with few bits, so that the product is exact.
#include <limits>

#include "jit/fuser/llvm/math.h"
#include "jit/support/math_polynomials.h"

namespace hearth::fuser {
namespace {

constexpr double kLogNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLogInfinity = std::numeric_limits<double>::infinity();

struct LogConstants {
  double least_normal, scale_up;
  int scaled_exponent;
  int mantissa_bits;
  uint64_t root_half;  // the bits of sqrt(1/2)
};
constexpr LogConstants kLog32 = {0x1p-126, 0x1p+24, 24, 23, 0x3f3504f3};
constexpr LogConstants kLog64 = {0x1p-1022, 0x1p+54, 54, 52, 0x3fe6a09e667f3bcd};

const LogConstants& LogConstantsOf(const LlvmScalar& x) { return x.is_double() ? kLog64 : kLog32; }

// A constant as the sum of two, the first with 11 bits in f32 and 32 in f64.
struct ConstantParts {
  double high, low;
};
struct PartsOfBoth {
  ConstantParts f32, f64;
};
const ConstantParts& PartsFor(const LlvmScalar& x, const PartsOfBoth& both) {
  return x.is_double() ? both.f64 : both.f32;
}

constexpr PartsOfBoth kLn2 = {{0.693359375, -2.12194440054690583e-4},
                              {6.93147180369123816490e-01, 1.90821492927058770002e-10}};
constexpr PartsOfBoth kLog10Of2 = {{0.301025390625, 4.60503898119521374e-6},
                                   {3.01029995663611771306e-01, 3.69423907715893078616e-13}};
// The nearest numbers of the dtype, and what is missing.
constexpr PartsOfBoth kLog2E = {{1.44269502162933349609, 1.92596299112661747e-8},
                                {1.44269504088896338700, 2.03552737409310331e-17}};
constexpr PartsOfBoth kLog10E = {{0.434294492006301879883, -1.01030501277652600e-8},
                                 {0.434294481903251816668, 1.09831965021676507e-17}};

// log1p(f) - f, for sqrt(1/2) - 1 <= f <= sqrt(2) - 1.
LlvmScalar Log1pTail(LlvmScalar f) {
  if (f.is_double()) {
    const LlvmScalar s = f / (2.0 + f);
    const LlvmScalar z = s * s;
    const LlvmScalar half_square = 0.5 * f * f;
    return MulAdd(s, half_square + z * Polynomial(z, polynomials::kLog1pQuotient64), -half_square);
  }
  return f * f * MulAdd(f, Polynomial(f, polynomials::kLog1p32), -0.5);
}

// x = (1 + f) 2^k, for finite x > 0.
struct LogParts {
  LlvmScalar f;
  LlvmScalar k;       // an integer
  LlvmScalar number;  // k in floating point
};

LogParts Split(LlvmScalar x) {
  const LogConstants& constants = LogConstantsOf(x);
  const LlvmScalar bits = BitsOf(x);
  const LlvmScalar k = (bits - constants.root_half) >> constants.mantissa_bits;
  return {FloatOfBits(bits - (k << constants.mantissa_bits)) - 1.0, k, FloatOfInteger(k)};
}

// Subnormal numbers, too.
LogParts SplitAny(LlvmScalar x) {
  const LogConstants& constants = LogConstantsOf(x);
  const LlvmScalar subnormal = Less(x, constants.least_normal);
  LogParts parts = Split(Select(subnormal, x * constants.scale_up, x));
  parts.number = Select(subnormal, parts.number - static_cast<double>(constants.scaled_exponent), parts.number);
  return parts;
}

// `result`, unless x is not a finite number above 0.
LlvmScalar WithExtremes(LlvmScalar x, LlvmScalar result) {
  const LlvmScalar of_zero = Select(Equal(x, 0.0), x.Like(-kLogInfinity), x);
  const LlvmScalar otherwise = Select(Less(x, 0.0), kLogNan, of_zero);
  return Select(Less(0.0, x) & Less(x, kLogInfinity), result, otherwise);
}

// k ln(2) + f + tail.
LlvmScalar SumOfLog(LlvmScalar k, LlvmScalar f, LlvmScalar tail) {
  const ConstantParts& ln2 = PartsFor(f, kLn2);
  return MulAdd(k, ln2.high, f + MulAdd(k, ln2.low, tail));
}

// k * unit + (f + tail) * factor, where the sum is the logarithm to another base.
LlvmScalar SumInBase(const LogParts& parts, const ConstantParts& factor, const ConstantParts& unit) {
  const LlvmScalar f = parts.f;
  const LlvmScalar tail = Log1pTail(f);
  const LlvmScalar product = f * factor.high;
  const LlvmScalar rest =
      MulAdd(tail, factor.high, MulAdd(f, factor.low, ProductTail(f, f.Like(factor.high), product)));
  return MulAdd(parts.number, unit.high, product + MulAdd(parts.number, unit.low, rest));
}

// log(x) + ln(2), for large x.
LlvmScalar LogOfTwice(LlvmScalar x) {
  const LogParts parts = Split(x);
  return SumOfLog(parts.number + 1.0, parts.f, Log1pTail(parts.f));
}

// log1p of finite x > -1.
LlvmScalar Log1pWithin(LlvmScalar x) {
  // 1 + x = u + c exactly; then (m - 1) + c 2^-k is f.
  const LlvmScalar u = x + 1.0;
  const LlvmScalar difference = u - x;
  const LlvmScalar c = (x - (u - difference)) + (1.0 - difference);
  const LogParts parts = Split(u);
  const LogConstants& constants = LogConstantsOf(x);
  // From here on c is too small to matter, and 2^-k would be subnormal.
  const LlvmScalar small = Less(parts.k, x.is_double() ? 1000 : 120);
  const LlvmScalar scale = FloatOfBits(BitsOf(x.Like(1.0)) - (parts.k << constants.mantissa_bits));
  const LlvmScalar f = MulAdd(Select(small, scale, 0.0), c, parts.f);
  return SumOfLog(parts.number, f, Log1pTail(f));
}

}  // namespace

LlvmScalar Log(LlvmScalar x) {
  const LogParts parts = SplitAny(x);
  return WithExtremes(x, SumOfLog(parts.number, parts.f, Log1pTail(parts.f)));
}

LlvmScalar Log2(LlvmScalar x) { return WithExtremes(x, SumInBase(SplitAny(x), PartsFor(x, kLog2E), {1.0, 0.0})); }

LlvmScalar Log10(LlvmScalar x) {
  return WithExtremes(x, SumInBase(SplitAny(x), PartsFor(x, kLog10E), PartsFor(x, kLog10Of2)));
}

LlvmScalar Log1p(LlvmScalar x) {
  const LlvmScalar at_least = Select(Equal(x, -1.0), x.Like(-kLogInfinity), x);
  const LlvmScalar otherwise = Select(Less(x, -1.0), kLogNan, at_least);
  // log1p(-0) is -0.
  const LlvmScalar within = CopySign(Log1pWithin(x), x);
  return Select(Less(-1.0, x) & Less(x, kLogInfinity), within, otherwise);
}

LlvmScalar Asinh(LlvmScalar x) {
  // log1p(a + a^2 / (1 + sqrt(1 + a^2))); for large a, whose square would overflow, log(2 a).
  const LlvmScalar a = Absolute(x);
  const LlvmScalar bounded = ClampAbove(a, 1e9);
  const LlvmScalar square = bounded * bounded;
  const LlvmScalar small = Log1pWithin(bounded + square / (1.0 + SquareRoot(1.0 + square)));
  const LlvmScalar finite = Select(Less(a, x.is_double() ? 2.7e8 : 1e6), small, LogOfTwice(a));
  return CopySign(Select(Less(a, kLogInfinity), finite, a), x);
}

LlvmScalar Acosh(LlvmScalar x) {
  // log1p(t + sqrt(2 t + t^2)), t = x - 1.
  const LlvmScalar t = ClampAbove(x, 1e9) - 1.0;
  const LlvmScalar small = Log1pWithin(t + SquareRoot(MulAdd(t, t, 2.0 * t)));
  const LlvmScalar finite = Select(Less(x, x.is_double() ? 2.7e8 : 1e6), small, LogOfTwice(x));
  const LlvmScalar above = Select(Less(x, kLogInfinity), finite, x);
  return Select(Less(x, 1.0), kLogNan, above);
}

LlvmScalar Atanh(LlvmScalar x) {
  // log1p(2 a / (1 - a)) / 2.
  const LlvmScalar a = Absolute(x);
  const LlvmScalar bounded = ClampAbove(a, 1.0 - (x.is_double() ? 0x1p-53 : 0x1p-24));
  const LlvmScalar within = 0.5 * Log1pWithin((bounded + bounded) / (1.0 - bounded));
  const LlvmScalar at_one = Select(Equal(a, 1.0), x.Like(kLogInfinity), within);
  return CopySign(Select(Less(1.0, a), kLogNan, at_one), x);
}

}  // namespace hearth::fuser
