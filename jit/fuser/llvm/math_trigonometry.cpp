// Sine, cosine and tangent with a range reduction that is right for every argument (M. Payne and R. Hanek, "Radian
// reduction for trigonometric functions", 1983), and their inverses.
//
// The reduction multiplies x by 2 / pi. Of that number's bits, the first ones give only multiples of 4 with a large x
// and are left out; which ones depends on x's exponent, by which a table gives the others as several floating-point
// numbers. The products' integer part is the quadrant, their fraction times pi / 2 the rest.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "jit/fuser/llvm/double_double.h"
#include "jit/fuser/llvm/math.h"
#include "jit/fuser/llvm/two_over_pi.h"
#include "jit/support/math_polynomials.h"

namespace hearth::fuser {
namespace {

constexpr double kShift = 6755399441055744.0;  // 1.5 * 2^52
constexpr double kHalfPi = 1.57079632679489661923;
constexpr double kHalfPiLow = 6.12323399573676603587e-17;  // what is missing in it

// x = quadrant * pi / 2 + rest + tail. The quadrant is an integer as wide as x, of which the two low bits matter.
struct Reduced {
  LlvmScalar quadrant;
  LlvmScalar rest;
  LlvmScalar tail;
};

// ---- f32: in f64, with the product of x and the table's first number exact ----

// For each exponent: 29 bits of 2 / pi, and 53 more.
constexpr int kFirstBits32 = 29;

std::vector<double> TableOfFloat() {
  std::vector<double> table;
  for (int exponent = 0; exponent < 256; ++exponent) {
    const int first = std::max(1, exponent - 127 - 24);
    table.push_back(BitsOfTwoOverPi(first, kFirstBits32));
    table.push_back(BitsOfTwoOverPi(first + kFirstBits32, 53));
  }
  return table;
}

// ---- f64: one row for 16 exponents ----

constexpr int kExponentsPerRow = 16;
constexpr int kNumbersPerRow = 4;
// From this exponent on, the numbers are so small that they and x are scaled.
constexpr int kScaledExponent = 512;
constexpr double kScale = 0x1p256;

std::vector<double> TableOfDouble() {
  std::vector<double> table;
  for (int exponent = 0; exponent < 1024; exponent += kExponentsPerRow) {
    const int first = std::max(1, exponent - 53);
    const double scale = exponent < kScaledExponent ? 1.0 : kScale;
    for (int i = 0; i < kNumbersPerRow; ++i) table.push_back(BitsOfTwoOverPi(first + 53 * i, 53, scale));
  }
  return table;
}

// The numbers of a row of a table, which is a constant of the module under `name`.
std::vector<LlvmScalar> LoadRow(LlvmScalar row, int numbers, const char* name, std::vector<double> (*make)()) {
  auto& builder = row.builder();
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  llvm::GlobalVariable* table = module.getGlobalVariable(name, /*AllowInternal=*/true);
  if (table == nullptr) {
    std::vector<double> elements = make();
    llvm::Constant* content = llvm::ConstantDataArray::get(builder.getContext(), elements);
    table = new llvm::GlobalVariable(module, content->getType(), /*isConstant=*/true, llvm::GlobalValue::PrivateLinkage,
                                     content, name);
    table->setAlignment(llvm::Align(64));
  }
  llvm::Value* first =
      builder.CreateNUWMul(builder.CreateZExt(row.value(), builder.getInt64Ty()), builder.getInt64(numbers));
  std::vector<LlvmScalar> loaded;
  for (int i = 0; i < numbers; ++i) {
    llvm::Value* index = builder.CreateAdd(first, builder.getInt64(i), "", /*HasNUW=*/true, /*HasNSW=*/true);
    llvm::Value* address = builder.CreateInBoundsGEP(builder.getDoubleTy(), table, index);
    loaded.emplace_back(row.context(), builder.CreateLoad(builder.getDoubleTy(), address));
  }
  return loaded;
}

Reduced ReduceFloat(LlvmScalar x) {
  const LlvmScalar exponent = (BitsOf(x) >> 23) & 255;
  const auto parts = LoadRow(exponent, 2, "two_over_pi_f32", TableOfFloat);
  const LlvmScalar wide = ToDouble(x);
  const LlvmScalar product = wide * parts[0];
  // The second product is as large as 1/8.
  const LlvmScalar shifted = MulAdd(wide, parts[1], product) + kShift;
  const LlvmScalar fraction = MulAdd(wide, parts[1], product - (shifted - kShift));
  const LlvmScalar quadrant(x.context(), x.builder().CreateTrunc(BitsOf(shifted).value(), x.builder().getInt32Ty()));
  return {quadrant, ToFloat(fraction * kHalfPi), x.Like(0.0)};
}

// x without a multiple of 4, at most 2.
LlvmScalar WithoutFours(LlvmScalar x) { return x - 4.0 * Round(x * 0.25); }

// The sum of numbers of any sizes, as exact as a few more than twice the bits of f64 are.
DoubleDouble SumOf(const std::vector<LlvmScalar>& terms) {
  LlvmScalar sum = terms[0];
  LlvmScalar first_errors = sum.Like(0.0);
  LlvmScalar second_errors = sum.Like(0.0);
  for (size_t i = 1; i < terms.size(); ++i) {
    const DoubleDouble next = TwoSum(sum, terms[i]);
    const DoubleDouble errors = TwoSum(first_errors, next.low);
    sum = next.high;
    first_errors = errors.high;
    second_errors = second_errors + errors.low;
  }
  const DoubleDouble result = TwoSum(sum, first_errors);
  return FastTwoSum(result.high, result.low + second_errors);
}

Reduced ReduceDouble(LlvmScalar unscaled) {
  const LlvmScalar exponent = ((BitsOf(unscaled) >> 52) & 2047) - 1023;
  const LlvmScalar x = Select(Less(exponent, kScaledExponent), unscaled, unscaled * (1.0 / kScale));
  const LlvmScalar row = Select(Less(exponent, 0), 0, exponent >> 4);
  const auto parts = LoadRow(row & 63, kNumbersPerRow, "two_over_pi_f64", TableOfDouble);
  const DoubleDouble first = TwoProduct(x, parts[0]);
  const DoubleDouble second = TwoProduct(x, parts[1]);
  const DoubleDouble third = TwoProduct(x, parts[2]);
  const LlvmScalar a = WithoutFours(first.high);
  const LlvmScalar b = WithoutFours(first.low);
  const LlvmScalar c = WithoutFours(second.high);
  const LlvmScalar shifted = (a + b + c + second.low) + kShift;
  const LlvmScalar quadrant = shifted - kShift;
  const DoubleDouble fraction = SumOf({a, -quadrant, b, c, second.low, third.high, MulAdd(x, parts[3], third.low)});
  const DoubleDouble rest = Multiply(fraction, {x.Like(kHalfPi), x.Like(kHalfPiLow)});
  return {BitsOf(shifted), rest.high, rest.low};
}

Reduced Reduce(LlvmScalar x) { return x.is_double() ? ReduceDouble(x) : ReduceFloat(x); }

struct SinCos {
  LlvmScalar sin, cos;
};

SinCos OfRest(const Reduced& reduced) {
  const LlvmScalar r = reduced.rest;
  const LlvmScalar z = r * r;
  const bool is_double = r.is_double();
  const LlvmScalar sin_tail =
      z * r * (is_double ? Polynomial(z, polynomials::kSin64) : Polynomial(z, polynomials::kSin32));
  const LlvmScalar cos_tail =
      z * z * (is_double ? Polynomial(z, polynomials::kCos64) : Polynomial(z, polynomials::kCos32));
  const LlvmScalar half = 0.5 * z;
  const LlvmScalar near_one = 1.0 - half;
  if (!is_double) return {r + sin_tail, near_one + cos_tail};
  const LlvmScalar tail = reduced.tail;
  return {r + MulAdd(tail, near_one, sin_tail), near_one + (((1.0 - near_one) - half) + (cos_tail - r * tail))};
}

LlvmScalar NegateIf(LlvmScalar x, LlvmScalar bit_one_of) {
  const int to_the_sign = x.width() - 2;
  return FloatOfBits(BitsOf(x) ^ ((bit_one_of & 2) << to_the_sign));
}

// sin(x + quadrants * pi / 2)
LlvmScalar SinFrom(LlvmScalar x, int quadrants) {
  const Reduced reduced = Reduce(x);
  const SinCos both = OfRest(reduced);
  const LlvmScalar quadrant = reduced.quadrant + quadrants;
  return NegateIf(Select(Equal(quadrant & 1, 0), both.sin, both.cos), quadrant);
}

// Below this sin(x) and tan(x) round to x; keeps the sign of zero.
LlvmScalar IsTiny(LlvmScalar x) { return Less(Absolute(x), x.is_double() ? 0x1p-27 : 0x1p-13); }

// ---- The inverses ----

// c - x, where c is a multiple of pi / 2.
LlvmScalar MultipleMinus(double multiple, LlvmScalar x) {
  const double high = x.is_double() ? kHalfPi : static_cast<float>(kHalfPi);
  const double low = x.is_double() ? kHalfPiLow : kHalfPi - high;
  return (multiple * high - x) + multiple * low;
}

// atan of 0 <= x <= 1.
LlvmScalar AtanWithin(LlvmScalar x) {
  const LlvmScalar z = x * x;
  return MulAdd(x * z, x.is_double() ? Polynomial(z, polynomials::kAtan64) : Polynomial(z, polynomials::kAtan32), x);
}

// asin(s), where z = s^2 <= 1/4.
LlvmScalar AsinWithin(LlvmScalar s, LlvmScalar z) {
  return MulAdd(s * z, s.is_double() ? Polynomial(z, polynomials::kAsin64) : Polynomial(z, polynomials::kAsin32), s);
}

// asin(x) for |x| <= 1/2, and asin(sqrt((1 - |x|) / 2)), of which the other half of the range is made.
struct AsinParts {
  LlvmScalar is_large;
  LlvmScalar value;
};
AsinParts AsinOf(LlvmScalar magnitude) {
  const LlvmScalar is_large = Less(0.5, magnitude);
  const LlvmScalar z = Select(is_large, 0.5 - 0.5 * magnitude, magnitude * magnitude);
  return {is_large, AsinWithin(Select(is_large, SquareRoot(z), magnitude), z)};
}

LlvmScalar IsNegative(LlvmScalar x) { return Less(BitsOf(x), 0); }

}  // namespace

LlvmScalar Sin(LlvmScalar x) { return Select(IsTiny(x), x, SinFrom(x, 0)); }
LlvmScalar Cos(LlvmScalar x) { return SinFrom(x, 1); }

LlvmScalar Tan(LlvmScalar x) {
  const Reduced reduced = Reduce(x);
  const SinCos both = OfRest(reduced);
  const LlvmScalar even = Equal(reduced.quadrant & 1, 0);
  const LlvmScalar quotient = Select(even, both.sin, both.cos) / Select(even, both.cos, both.sin);
  return Select(IsTiny(x), x, Select(even, quotient, -quotient));
}

LlvmScalar Asin(LlvmScalar x) {
  const AsinParts parts = AsinOf(Absolute(x));
  return CopySign(Select(parts.is_large, MultipleMinus(1.0, 2.0 * parts.value), parts.value), x);
}

LlvmScalar Acos(LlvmScalar x) {
  const AsinParts parts = AsinOf(Absolute(x));
  const LlvmScalar twice = 2.0 * parts.value;
  const LlvmScalar large = Select(IsNegative(x), MultipleMinus(2.0, twice), twice);
  return Select(parts.is_large, large, MultipleMinus(1.0, CopySign(parts.value, x)));
}

LlvmScalar Atan(LlvmScalar x) {
  const LlvmScalar magnitude = Absolute(x);
  const LlvmScalar is_large = Less(1.0, magnitude);
  const LlvmScalar within = AtanWithin(Select(is_large, 1.0 / magnitude, magnitude));
  return CopySign(Select(is_large, MultipleMinus(1.0, within), within), x);
}

LlvmScalar Atan2(LlvmScalar y, LlvmScalar x) {
  const LlvmScalar a = Absolute(x);
  const LlvmScalar b = Absolute(y);
  const LlvmScalar steep = Less(a, b);
  const LlvmScalar low = Select(steep, a, b);
  const LlvmScalar high = Select(steep, b, a);
  // 0 / 0 counts as 0 and infinity / infinity as 1.
  const LlvmScalar quotient = Select(Equal(high, 0.0), high, Select(Equal(a, b), 1.0, low / high));
  const LlvmScalar within = AtanWithin(quotient);
  const LlvmScalar first = Select(steep, MultipleMinus(1.0, within), within);
  const LlvmScalar half = Select(IsNegative(x), MultipleMinus(2.0, first), first);
  const LlvmScalar result = CopySign(half, y);
  return Select(IsNan(x), x, Select(IsNan(y), y, result));
}

}  // namespace hearth::fuser
