// x^y = 2^(y log2(x)) for f32, in f64; e^(y log(x)) for f64, with a logarithm of twice the precision: an error in it is
// multiplied by up to 2^10. Then the cases that C's pow lists.
#include <limits>

#include "jit/fuser/llvm/double_double.h"
#include "jit/fuser/llvm/math.h"
#include "jit/support/math_polynomials.h"

namespace hearth::fuser {
namespace {

constexpr double kPowerInfinity = std::numeric_limits<double>::infinity();

// log(x) for x > 0; of 0 and infinity, what the power needs: a number as large as none other.
DoubleDouble LogOf(LlvmScalar x) {
  const LlvmScalar subnormal = Less(x, 0x1p-1022);
  const LlvmScalar bits = BitsOf(Select(subnormal, x * 0x1p54, x));
  const LlvmScalar k = (bits - 0x3fe6a09e667f3bcd) >> 52;
  const LlvmScalar m = FloatOfBits(bits - (k << 52));
  const LlvmScalar integer = FloatOfInteger(k);
  const LlvmScalar number = Select(subnormal, integer - 54.0, integer);
  // log(m) = 2 atanh(s) = 2 s + s^3 (2/3 + s^2 ...), s = (m - 1) / (m + 1).
  const LlvmScalar f = m - 1.0;
  const DoubleDouble divisor = FastTwoSum(Select(Less(m, 1.0), x.Like(1.0), m), Select(Less(m, 1.0), m, x.Like(1.0)));
  const LlvmScalar quotient = f / divisor.high;
  const DoubleDouble back = TwoProduct(quotient, divisor.high);
  const LlvmScalar rest = ((f - back.high) - back.low) - quotient * divisor.low;
  const DoubleDouble s = FastTwoSum(quotient, rest / divisor.high);
  const DoubleDouble square = Multiply(s, s);
  // The polynomial begins with 2/3, of which the second half is added here.
  const LlvmScalar z = square.high;
  const LlvmScalar tail = z * Polynomial(z, std::span(polynomials::kLog1pQuotient64).subspan(1));
  const DoubleDouble factor = FastTwoSum(z.Like(0.66666666666666662966), tail + 3.70074341541718826e-17);
  const DoubleDouble cube = Multiply(Multiply(s, square), factor);
  const DoubleDouble log_m = Add({2.0 * s.high, 2.0 * s.low}, cube);
  // k ln(2): the first part of ln(2) has 42 bits.
  const DoubleDouble k_ln2 = FastTwoSum(number * 0.693147180559890330187, number * 5.49792301870837115524e-14);
  const DoubleDouble sum = TwoSum(k_ln2.high, log_m.high);
  return FastTwoSum(sum.high, sum.low + (k_ln2.low + log_m.low));
}

// |x|^y in f64, unless log(|x|) is 0 or not finite.
LlvmScalar PowerOfDouble(LlvmScalar magnitude, LlvmScalar y) {
  const DoubleDouble log = LogOf(magnitude);
  const DoubleDouble product = TwoProduct(y, log.high);
  // What is beyond the bounds is 0 or infinity; the tail may then be infinite or NaN.
  const LlvmScalar high = ClampAbove(ClampBelow(product.high, -748.0), 710.0);
  const LlvmScalar exact_tail = MulAdd(y, log.low, product.low);
  const LlvmScalar tail = Select(Equal(high, product.high), exact_tail, 0.0);
  const ExpParts parts = ReduceExp(high);
  const LlvmScalar twice = MulAdd(parts.expm1, 2.0, 2.0);
  return ScaleHalf(MulAdd(twice, tail, twice), parts.n);
}

LlvmScalar PowerOfMagnitude(LlvmScalar magnitude, LlvmScalar y) {
  const LlvmScalar core =
      magnitude.is_double() ? PowerOfDouble(magnitude, y) : ToFloat(Exp2(ToDouble(y) * Log2(ToDouble(magnitude))));
  // Where one of them is infinite, or x is 0: 0 or infinity.
  const LlvmScalar large_x = Less(1.0, magnitude);
  const LlvmScalar positive_y = Less(0.0, y);
  const LlvmScalar is_extreme =
      Equal(Absolute(y), kPowerInfinity) | Equal(magnitude, kPowerInfinity) | Equal(magnitude, 0.0);
  const LlvmScalar grows = !(large_x ^ positive_y);
  const LlvmScalar result = Select(is_extreme, Select(grows, core.Like(kPowerInfinity), core.Like(0.0)), core);
  return Select(Equal(magnitude, 1.0), 1.0, result);
}

}  // namespace

LlvmScalar Power(LlvmScalar x, LlvmScalar y) {
  const LlvmScalar result = PowerOfMagnitude(Absolute(x), y);
  const LlvmScalar y_whole = Equal(Truncate(y), y);
  const LlvmScalar half = y * 0.5;
  const LlvmScalar y_odd = y_whole & NotEqual(Truncate(half), half);
  const LlvmScalar negative = Less(BitsOf(x), 0);
  const LlvmScalar with_sign = Select(negative & y_odd, -result, result);
  const LlvmScalar no_power = Less(x, 0.0) & Less(-kPowerInfinity, x) & !y_whole & Less(Absolute(y), kPowerInfinity);
  const LlvmScalar real = Select(no_power, std::numeric_limits<double>::quiet_NaN(), with_sign);
  const LlvmScalar with_nan = Select(IsNan(x), x, Select(IsNan(y), y, real));
  return Select(Equal(x, 1.0) | Equal(y, 0.0), 1.0, with_nan);
}

}  // namespace hearth::fuser
