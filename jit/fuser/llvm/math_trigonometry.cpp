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
#include "jit/fuser/llvm/math_polynomials.h"
#include "jit/fuser/llvm/two_over_pi.h"

namespace hearth::fuser {
namespace {

constexpr double kShift = 6755399441055744.0;  // 1.5 * 2^52
constexpr double kHalfPi = 1.57079632679489661923;
constexpr double kHalfPiLow = 6.12323399573676603587e-17;  // what is missing in it

// x = quadrant * pi / 2 + rest + tail. The quadrant is an integer as wide as x, of which the two low bits matter.
struct Reduced {
  Scalar quadrant;
  Scalar rest;
  Scalar tail;
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
std::vector<Scalar> LoadRow(Scalar row, int numbers, const char* name, std::vector<double> (*make)()) {
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
  std::vector<Scalar> loaded;
  for (int i = 0; i < numbers; ++i) {
    llvm::Value* index = builder.CreateAdd(first, builder.getInt64(i), "", /*HasNUW=*/true, /*HasNSW=*/true);
    llvm::Value* address = builder.CreateInBoundsGEP(builder.getDoubleTy(), table, index);
    loaded.emplace_back(row.context(), builder.CreateLoad(builder.getDoubleTy(), address));
  }
  return loaded;
}

Reduced ReduceFloat(Scalar x) {
  const Scalar exponent = (BitsOf(x) >> 23) & 255;
  const auto parts = LoadRow(exponent, 2, "two_over_pi_f32", TableOfFloat);
  const Scalar wide = ToDouble(x);
  const Scalar product = wide * parts[0];
  // The second product is as large as 1/8.
  const Scalar shifted = MulAdd(wide, parts[1], product) + kShift;
  const Scalar fraction = MulAdd(wide, parts[1], product - (shifted - kShift));
  const Scalar quadrant(x.context(), x.builder().CreateTrunc(BitsOf(shifted).value(), x.builder().getInt32Ty()));
  return {quadrant, ToFloat(fraction * kHalfPi), x.Like(0.0)};
}

// x without a multiple of 4, at most 2.
Scalar WithoutFours(Scalar x) { return x - 4.0 * Round(x * 0.25); }

// The sum of numbers of any sizes, as exact as a few more than twice the bits of f64 are.
DoubleDouble SumOf(const std::vector<Scalar>& terms) {
  Scalar sum = terms[0];
  Scalar first_errors = sum.Like(0.0);
  Scalar second_errors = sum.Like(0.0);
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

Reduced ReduceDouble(Scalar unscaled) {
  const Scalar exponent = ((BitsOf(unscaled) >> 52) & 2047) - 1023;
  const Scalar x = Select(Less(exponent, kScaledExponent), unscaled, unscaled * (1.0 / kScale));
  const Scalar row = Select(Less(exponent, 0), 0, exponent >> 4);
  const auto parts = LoadRow(row & 63, kNumbersPerRow, "two_over_pi_f64", TableOfDouble);
  const DoubleDouble first = TwoProduct(x, parts[0]);
  const DoubleDouble second = TwoProduct(x, parts[1]);
  const DoubleDouble third = TwoProduct(x, parts[2]);
  const Scalar a = WithoutFours(first.high);
  const Scalar b = WithoutFours(first.low);
  const Scalar c = WithoutFours(second.high);
  const Scalar shifted = (a + b + c + second.low) + kShift;
  const Scalar quadrant = shifted - kShift;
  const DoubleDouble fraction = SumOf({a, -quadrant, b, c, second.low, third.high, MulAdd(x, parts[3], third.low)});
  const DoubleDouble rest = Multiply(fraction, {x.Like(kHalfPi), x.Like(kHalfPiLow)});
  return {BitsOf(shifted), rest.high, rest.low};
}

Reduced Reduce(Scalar x) { return x.is_double() ? ReduceDouble(x) : ReduceFloat(x); }

struct SinCos {
  Scalar sin, cos;
};

SinCos OfRest(const Reduced& reduced) {
  const Scalar r = reduced.rest;
  const Scalar z = r * r;
  const bool is_double = r.is_double();
  const Scalar sin_tail = z * r * (is_double ? Polynomial(z, polynomials::kSin64) : Polynomial(z, polynomials::kSin32));
  const Scalar cos_tail = z * z * (is_double ? Polynomial(z, polynomials::kCos64) : Polynomial(z, polynomials::kCos32));
  const Scalar half = 0.5 * z;
  const Scalar near_one = 1.0 - half;
  if (!is_double) return {r + sin_tail, near_one + cos_tail};
  const Scalar tail = reduced.tail;
  return {r + MulAdd(tail, near_one, sin_tail), near_one + (((1.0 - near_one) - half) + (cos_tail - r * tail))};
}

Scalar NegateIf(Scalar x, Scalar bit_one_of) {
  const int to_the_sign = x.width() - 2;
  return FloatOfBits(BitsOf(x) ^ ((bit_one_of & 2) << to_the_sign));
}

// sin(x + quadrants * pi / 2)
Scalar SinFrom(Scalar x, int quadrants) {
  const Reduced reduced = Reduce(x);
  const SinCos both = OfRest(reduced);
  const Scalar quadrant = reduced.quadrant + quadrants;
  return NegateIf(Select(Equal(quadrant & 1, 0), both.sin, both.cos), quadrant);
}

// Below this sin(x) and tan(x) round to x; keeps the sign of zero.
Scalar IsTiny(Scalar x) { return Less(Absolute(x), x.is_double() ? 0x1p-27 : 0x1p-13); }

// ---- The inverses ----

// c - x, where c is a multiple of pi / 2.
Scalar MultipleMinus(double multiple, Scalar x) {
  const double high = x.is_double() ? kHalfPi : static_cast<float>(kHalfPi);
  const double low = x.is_double() ? kHalfPiLow : kHalfPi - high;
  return (multiple * high - x) + multiple * low;
}

// atan of 0 <= x <= 1.
Scalar AtanWithin(Scalar x) {
  const Scalar z = x * x;
  return MulAdd(x * z, x.is_double() ? Polynomial(z, polynomials::kAtan64) : Polynomial(z, polynomials::kAtan32), x);
}

// asin(s), where z = s^2 <= 1/4.
Scalar AsinWithin(Scalar s, Scalar z) {
  return MulAdd(s * z, s.is_double() ? Polynomial(z, polynomials::kAsin64) : Polynomial(z, polynomials::kAsin32), s);
}

// asin(x) for |x| <= 1/2, and asin(sqrt((1 - |x|) / 2)), of which the other half of the range is made.
struct AsinParts {
  Scalar is_large;
  Scalar value;
};
AsinParts AsinOf(Scalar magnitude) {
  const Scalar is_large = Less(0.5, magnitude);
  const Scalar z = Select(is_large, 0.5 - 0.5 * magnitude, magnitude * magnitude);
  return {is_large, AsinWithin(Select(is_large, SquareRoot(z), magnitude), z)};
}

Scalar IsNegative(Scalar x) { return Less(BitsOf(x), 0); }

}  // namespace

Scalar Sin(Scalar x) { return Select(IsTiny(x), x, SinFrom(x, 0)); }
Scalar Cos(Scalar x) { return SinFrom(x, 1); }

Scalar Tan(Scalar x) {
  const Reduced reduced = Reduce(x);
  const SinCos both = OfRest(reduced);
  const Scalar even = Equal(reduced.quadrant & 1, 0);
  const Scalar quotient = Select(even, both.sin, both.cos) / Select(even, both.cos, both.sin);
  return Select(IsTiny(x), x, Select(even, quotient, -quotient));
}

Scalar Asin(Scalar x) {
  const AsinParts parts = AsinOf(Absolute(x));
  return CopySign(Select(parts.is_large, MultipleMinus(1.0, 2.0 * parts.value), parts.value), x);
}

Scalar Acos(Scalar x) {
  const AsinParts parts = AsinOf(Absolute(x));
  const Scalar twice = 2.0 * parts.value;
  const Scalar large = Select(IsNegative(x), MultipleMinus(2.0, twice), twice);
  return Select(parts.is_large, large, MultipleMinus(1.0, CopySign(parts.value, x)));
}

Scalar Atan(Scalar x) {
  const Scalar magnitude = Absolute(x);
  const Scalar is_large = Less(1.0, magnitude);
  const Scalar within = AtanWithin(Select(is_large, 1.0 / magnitude, magnitude));
  return CopySign(Select(is_large, MultipleMinus(1.0, within), within), x);
}

Scalar Atan2(Scalar y, Scalar x) {
  const Scalar a = Absolute(x);
  const Scalar b = Absolute(y);
  const Scalar steep = Less(a, b);
  const Scalar low = Select(steep, a, b);
  const Scalar high = Select(steep, b, a);
  // 0 / 0 counts as 0 and infinity / infinity as 1.
  const Scalar quotient = Select(Equal(high, 0.0), high, Select(Equal(a, b), 1.0, low / high));
  const Scalar within = AtanWithin(quotient);
  const Scalar first = Select(steep, MultipleMinus(1.0, within), within);
  const Scalar half = Select(IsNegative(x), MultipleMinus(2.0, first), first);
  const Scalar result = CopySign(half, y);
  return Select(IsNan(x), x, Select(IsNan(y), y, result));
}

}  // namespace hearth::fuser
