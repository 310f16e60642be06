#include "jit/fuser/ir/scalar_math.h"

#include <functional>
#include <limits>
#include <map>

#include "jit/fuser/ir/aten_testing.h"

namespace hearth::fuser {
namespace {

using Limits = std::numeric_limits<double>;

// What ATen makes of up to three tensors.
using AtenOperator = std::function<at::Tensor(const std::vector<at::Tensor>&)>;

const std::map<Opcode, AtenOperator>& AtenOperators() {
  const auto unary = [](at::Tensor (*op)(const at::Tensor&)) -> AtenOperator {
    return [op](const std::vector<at::Tensor>& x) { return op(x[0]); };
  };
  const auto binary = [](at::Tensor (*op)(const at::Tensor&, const at::Tensor&)) -> AtenOperator {
    return [op](const std::vector<at::Tensor>& x) { return op(x[0], x[1]); };
  };
  static const auto* const operators = new std::map<Opcode, AtenOperator>{
      {Opcode::kAdd, [](const auto& x) { return at::add(x[0], x[1]); }},
      {Opcode::kSubtract, [](const auto& x) { return at::sub(x[0], x[1]); }},
      {Opcode::kMultiply, binary(at::mul)},
      {Opcode::kDivide,
       [](const auto& x) { return x[0].is_floating_point() ? at::div(x[0], x[1]) : at::div(x[0], x[1], "trunc"); }},
      {Opcode::kFloorDivide, binary(at::floor_divide)},
      {Opcode::kRemainder, binary(at::remainder)},
      {Opcode::kFmod, binary(at::fmod)},
      {Opcode::kMinimum, binary(at::minimum)},
      {Opcode::kMaximum, binary(at::maximum)},
      {Opcode::kNegate, unary(at::neg)},
      {Opcode::kAbsolute, unary(at::abs)},
      {Opcode::kAnd, binary(at::bitwise_and)},
      {Opcode::kOr, binary(at::bitwise_or)},
      {Opcode::kXor, binary(at::bitwise_xor)},
      {Opcode::kNot, unary(at::bitwise_not)},
      {Opcode::kShiftLeft, binary(at::bitwise_left_shift)},
      {Opcode::kShiftRight, binary(at::bitwise_right_shift)},
      {Opcode::kEqual, binary(at::eq)},
      {Opcode::kNotEqual, binary(at::ne)},
      {Opcode::kLess, binary(at::lt)},
      {Opcode::kLessOrEqual, binary(at::le)},
      {Opcode::kFloor, unary(at::floor)},
      {Opcode::kCeil, unary(at::ceil)},
      {Opcode::kTruncate, unary(at::trunc)},
      {Opcode::kRound, unary(at::round)},
      {Opcode::kSquareRoot, unary(at::sqrt)},
      {Opcode::kCopySign, binary(at::copysign)},
      {Opcode::kExp, unary(at::exp)},
      {Opcode::kExp2, unary(at::exp2)},
      {Opcode::kExpm1, unary(at::expm1)},
      {Opcode::kLog, unary(at::log)},
      {Opcode::kLog2, unary(at::log2)},
      {Opcode::kLog10, unary(at::log10)},
      {Opcode::kLog1p, unary(at::log1p)},
      {Opcode::kSin, unary(at::sin)},
      {Opcode::kCos, unary(at::cos)},
      {Opcode::kTan, unary(at::tan)},
      {Opcode::kAsin, unary(at::asin)},
      {Opcode::kAcos, unary(at::acos)},
      {Opcode::kAtan, unary(at::atan)},
      {Opcode::kAtan2, binary(at::atan2)},
      {Opcode::kSinh, unary(at::sinh)},
      {Opcode::kCosh, unary(at::cosh)},
      {Opcode::kTanh, unary(at::tanh)},
      {Opcode::kAsinh, unary(at::asinh)},
      {Opcode::kAcosh, unary(at::acosh)},
      {Opcode::kAtanh, unary(at::atanh)},
      {Opcode::kErf, unary(at::erf)},
      {Opcode::kErfc, unary(at::erfc)},
      {Opcode::kPower, [](const auto& x) { return at::pow(x[0], x[1]); }},
  };
  return *operators;
}

bool DividesIntegers(Opcode opcode) {
  return opcode == Opcode::kDivide || opcode == Opcode::kFloorDivide || opcode == Opcode::kRemainder ||
         opcode == Opcode::kFmod;
}

std::vector<double> ExtremesOf(Dtype dtype) {
  if (dtype == Dtype::kBool) return {0, 1};
  if (dtype == Dtype::kUint8) return {0, 1, 2, 3, 7, 8, 100, 127, 128, 254, 255};
  if (IsInteger(dtype)) {
    const double least = -std::ldexp(1, static_cast<int>(BytesOf(dtype)) * 8 - 1);
    // 2^62 and its like: the largest i64 is no double.
    return {least, least / 2 + 1, -100, -8, -7, -3, -2, -1, 0, 1, 2, 3, 7, 8, 15, 31, 63, 100, -(least / 2 + 1)};
  }
  std::vector<double> values = {Limits::quiet_NaN(),
                                Limits::infinity(),
                                0,
                                0.1,
                                1.0 / 3,
                                0.5,
                                0.999,
                                1,
                                1.5,
                                2,
                                2.5,
                                3,
                                3.5,
                                7,
                                10.25,
                                88.5,
                                1e10,
                                12345.678};
  if (dtype == Dtype::kFloat32) {
    values.insert(values.end(), {0x1p-149, 0x1p-126, 3.4028234663852886e38, 8388609, 0x1.fffffep-1});
  } else {
    values.insert(values.end(), {0x1p-1074, 0x1p-1022, Limits::max(), 4503599627370497.0, 1e300});
  }
  const size_t positive = values.size();
  for (size_t i = 0; i < positive; ++i) values.push_back(-values[i]);
  return values;
}

// y[i] = opcode(x[i], ...).
Kernel PointwiseKernel(Opcode opcode, Dtype dtype) {
  KernelBuilder k;
  const ValueId n = k.Symbol();
  const ValueId one = k.Integer(1);
  std::vector<BufferId> inputs;
  for (int i = 0; i < InfoOf(opcode).num_operands; ++i) inputs.push_back(k.Input(dtype, {n}, {one}));
  const BufferId output = k.Output(IsComparison(opcode) ? Dtype::kBool : dtype, {n}, {one});
  k.Parallel(n, [&](ValueId i) {
    std::vector<ValueId> operands;
    for (const BufferId input : inputs) operands.push_back(k.Load(input, {i}));
    k.Store(output, {i}, k.Call(opcode, operands));
  });
  return k.Finish();
}

// Where ATen has no result to compare with: a processor traps where it divides by 0, or the least integer by -1; its
// vectors give NaN for a rest whose quotient overflows, where its scalars give C's.
bool AtenFails(Opcode opcode, Dtype dtype, double a, double b) {
  if (IsInteger(dtype)) return DividesIntegers(opcode) && (b == 0 || (b == -1 && a == ExtremesOf(dtype)[0]));
  if (opcode != Opcode::kRemainder && opcode != Opcode::kFmod) return false;
  const double quotient = dtype == Dtype::kFloat32 ? static_cast<float>(a) / static_cast<float>(b) : a / b;
  return std::isinf(quotient) && std::isfinite(a) && b != 0;
}

// All pairs of extremes.
std::vector<at::Tensor> OperandsFor(Opcode opcode, Dtype dtype) {
  std::vector<double> first;
  std::vector<double> second;
  const std::vector<double> values = ExtremesOf(dtype);
  for (const double a : values) {
    for (const double b : values) {
      if (AtenFails(opcode, dtype, a, b)) continue;
      first.push_back(a);
      second.push_back(b);
    }
  }
  return {TensorOf(dtype, first), TensorOf(dtype, second)};
}

Likeness LikenessOf(Opcode opcode) {
  // The library that ATen takes for vectors of f64 does not round square roots correctly.
  if (opcode >= Opcode::kExp || opcode == Opcode::kSquareRoot) return Likeness::kFewRoundings;
  return opcode == Opcode::kMinimum || opcode == Opcode::kMaximum ? Likeness::kEqual : Likeness::kBits;
}

TEST(ScalarMathTest, OperationsAreThoseOfAten) {
  for (const auto& [opcode, aten] : AtenOperators()) {
    for (const Dtype dtype : kAllDtypes) {
      if (!Takes(InfoOf(opcode).operands, dtype)) continue;
      SCOPED_TRACE(std::string(InfoOf(opcode).name) + " of " + std::string(NameOf(dtype)));
      const std::vector<at::Tensor> operands = OperandsFor(opcode, dtype);
      const at::Tensor expected = aten(operands);
      const at::Tensor given = at::empty_like(expected);
      const Kernel kernel = PointwiseKernel(opcode, dtype);
      if (InfoOf(opcode).num_operands == 1) {
        RunOnTensors(kernel, {operands[0].numel()}, {operands[0], given});
      } else {
        RunOnTensors(kernel, {operands[0].numel()}, {operands[0], operands[1], given});
      }
      ExpectLike(given, expected, LikenessOf(opcode), operands);
    }
  }
}

TEST(ScalarMathTest, EveryOperationIsComparedWithAtenButThoseThatItHasNot) {
  for (size_t i = static_cast<size_t>(Opcode::kAdd); i < kNumOpcodes; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    const bool compared = AtenOperators().contains(opcode);
    const bool closed_form = opcode == Opcode::kFma || opcode == Opcode::kShiftRightLogical ||
                             opcode == Opcode::kWithin || opcode == Opcode::kSelect;
    EXPECT_NE(compared, closed_form) << InfoOf(opcode).name;
  }
}

int64_t Integer(Opcode opcode, Dtype dtype, int64_t a, int64_t b) {
  return static_cast<int64_t>(Compute(opcode, dtype, static_cast<Bits>(a), static_cast<Bits>(b), 0));
}

TEST(ScalarMathTest, DivisionsThatTrapElsewhereAreDefined) {
  for (const Dtype dtype : {Dtype::kUint8, Dtype::kInt8, Dtype::kInt16, Dtype::kInt32, Dtype::kInt64}) {
    for (const Opcode opcode : {Opcode::kDivide, Opcode::kFloorDivide, Opcode::kRemainder, Opcode::kFmod}) {
      EXPECT_EQ(Integer(opcode, dtype, 5, 0), 0);
    }
    if (dtype == Dtype::kUint8) continue;
    const int64_t least = INT64_MIN >> (64 - 8 * BytesOf(dtype));
    EXPECT_EQ(Integer(Opcode::kDivide, dtype, least, -1), least);
    EXPECT_EQ(Integer(Opcode::kFloorDivide, dtype, least, -1), least);
    EXPECT_EQ(Integer(Opcode::kRemainder, dtype, least, -1), 0);
    EXPECT_EQ(Integer(Opcode::kFmod, dtype, least, -1), 0);
  }
}

// The third lies just below the middle of two numbers.
TEST(ScalarMathTest, SquareRootsAreCorrectlyRounded) {
  const auto root = [](double x, Dtype dtype) {
    return DoubleOf(Compute(Opcode::kSquareRoot, dtype, BitsOf(x, dtype), 0, 0), dtype);
  };
  EXPECT_EQ(root(0.5, Dtype::kFloat64), 0x1.6a09e667f3bcdp-1);
  EXPECT_EQ(root(0.5, Dtype::kFloat32), 0x1.6a09e6p-1);
  EXPECT_EQ(root(0x1.fffffffffffffp-1, Dtype::kFloat64), 0x1.fffffffffffffp-1);
  EXPECT_EQ(root(0x1p-1074, Dtype::kFloat64), 0x1p-537);
}

TEST(ScalarMathTest, RestsAreExactWhereverTheQuotientIs) {
  const auto rest = [](Opcode opcode, double a, double b) {
    return DoubleOf(Compute(opcode, Dtype::kFloat32, BitsOf(a, Dtype::kFloat32), BitsOf(b, Dtype::kFloat32), 0),
                    Dtype::kFloat32);
  };
  EXPECT_EQ(rest(Opcode::kFmod, 0x1p127, 0x1p-149), 0);
  EXPECT_EQ(rest(Opcode::kFmod, -0x1p127, 0x1.8p-1), -0.5);
  EXPECT_EQ(rest(Opcode::kRemainder, -0x1p127, 0x1.8p-1), 0.25);
}

TEST(ScalarMathTest, AFusedMultiplyAddIsRoundedOnce) {
  const float a = 1 + 0x1p-12f;
  const Bits x = BitsOf(a, Dtype::kFloat32);
  const Bits z = BitsOf(-(1 + 0x1p-11), Dtype::kFloat32);
  EXPECT_EQ(DoubleOf(Compute(Opcode::kFma, Dtype::kFloat32, x, x, z), Dtype::kFloat32), 0x1p-24);
}

TEST(ScalarMathTest, ALogicalShiftFillsWithZeros) {
  EXPECT_EQ(Integer(Opcode::kShiftRightLogical, Dtype::kInt8, -1, 1), 127);
  EXPECT_EQ(Integer(Opcode::kShiftRightLogical, Dtype::kInt8, -1, 0), -1);
  EXPECT_EQ(Integer(Opcode::kShiftRightLogical, Dtype::kInt64, -1, 63), 1);
  EXPECT_EQ(Integer(Opcode::kShiftRightLogical, Dtype::kInt32, -1, 32), 0);
  EXPECT_EQ(Integer(Opcode::kShiftRightLogical, Dtype::kInt32, -1, -1), 0);
}

TEST(ScalarMathTest, ASelectPicksOfAnyDtype) {
  for (const Dtype dtype : kAllDtypes) {
    EXPECT_EQ(Compute(Opcode::kSelect, dtype, 1, 1, 0), 1u);
    EXPECT_EQ(Compute(Opcode::kSelect, dtype, 0, 1, 0), 0u);
  }
}

Kernel CastKernel(Dtype from, Dtype to) {
  KernelBuilder k;
  const ValueId n = k.Symbol();
  const BufferId x = k.Input(from, {n}, {k.Integer(1)});
  const BufferId y = k.Output(to, {n}, {k.Integer(1)});
  k.Parallel(n, [&](ValueId i) { k.Store(y, {i}, k.Cast(k.Load(x, {i}), to)); });
  return k.Finish();
}

// Values of `from` whose cast is specified: what fits, and with a fraction in either direction.
std::vector<double> CastableValues(Dtype from, Dtype to) {
  std::vector<double> values = {0, 1, 2, 3, 7, 100, 126.5, 127};
  if (to != Dtype::kUint8 && from != Dtype::kUint8 && from != Dtype::kBool) {
    values.insert(values.end(), {-0.9, -1, -1.5, -100, -127.5});
  }
  if (IsInteger(from)) {
    for (const double extreme : ExtremesOf(from)) values.push_back(extreme);
    if (from == Dtype::kInt64) values.insert(values.end(), {16777217, 1.0e15 + 1, 65519, 65520, 3.0e18 + 1024});
  }
  if (IsFloating(from) && !IsInteger(to)) {
    for (const double extreme : ExtremesOf(Dtype::kFloat64)) values.push_back(extreme);
    values.insert(values.end(),
                  {65504, 65519.99, 65520, -65520, 6e-8, 2.9e-8, 3e-8, 0x1p-24, 0x1p-25, 0x1.8p-25, 1.0009765,
                   1.00048828125, 1.00146484375, 1 + 0x1p-11 + 0x1p-40, 0x1p-126, 3.3e38, 3.4e38});
  }
  return values;
}

TEST(ScalarMathTest, CastsAreThoseOfAten) {
  for (const Dtype from : kAllDtypes) {
    for (const Dtype to : kAllDtypes) {
      if (from == to) continue;
      SCOPED_TRACE(std::string(NameOf(from)) + " to " + std::string(NameOf(to)));
      const at::Tensor x = TensorOf(from, CastableValues(from, to));
      const at::Tensor expected = x.to(ScalarTypeOf(to));
      const at::Tensor y = at::empty_like(expected);
      RunOnTensors(CastKernel(from, to), {x.numel()}, {x, y});
      ExpectLike(y, expected, Likeness::kBits, {x});
    }
  }
}

TEST(ScalarMathTest, CastsThatDoNotFitAreKnownAsSuch) {
  const auto fits = [](double value, Dtype to) {
    return CastFits(BitsOf(value, Dtype::kFloat64), Dtype::kFloat64, to);
  };
  EXPECT_TRUE(fits(255.9, Dtype::kUint8));
  EXPECT_FALSE(fits(256, Dtype::kUint8));
  EXPECT_TRUE(fits(-0.9, Dtype::kUint8));
  EXPECT_FALSE(fits(-1, Dtype::kUint8));
  EXPECT_TRUE(fits(-0x1p63, Dtype::kInt64));
  EXPECT_FALSE(fits(0x1p63, Dtype::kInt64));
  EXPECT_FALSE(fits(Limits::quiet_NaN(), Dtype::kInt64));
  EXPECT_TRUE(fits(Limits::infinity(), Dtype::kBool));
}

// Every half and bfloat16 there is, and the numbers half way between neighbours.
TEST(ScalarMathTest, SixteenBitFloatsAreConvertedAsAtenDoes) {
  for (uint32_t i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    const float half = static_cast<float>(c10::Half(bits, c10::Half::from_bits()));
    const float brain = static_cast<float>(c10::BFloat16(bits, c10::BFloat16::from_bits()));
    ASSERT_TRUE(IsLike(FloatOfHalf(bits), half, true, Likeness::kBits)) << i;
    ASSERT_TRUE(IsLike(FloatOfBFloat16(bits), brain, true, Likeness::kBits)) << i;
    for (const float value : {half, brain}) {
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(FloatOfHalf(HalfOfFloat(value))));
        EXPECT_TRUE(std::isnan(FloatOfBFloat16(BFloat16OfFloat(value))));
        continue;
      }
      const uint32_t around = std::bit_cast<uint32_t>(value);
      for (const uint32_t offset : {0x0u, 0x1u, 0xfffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u}) {
        const auto near = std::bit_cast<float>(around + offset);
        if (std::isnan(near)) continue;
        ASSERT_EQ(HalfOfFloat(near), c10::Half(near).x) << near;
        ASSERT_EQ(BFloat16OfFloat(near), c10::BFloat16(near).x) << near;
      }
    }
  }
}

TEST(ScalarMathTest, BitcastsKeepTheBits) {
  EXPECT_EQ(Reinterpret(BitsOf(-0.0, Dtype::kFloat32), Dtype::kInt32), Wrap(0x80000000, Dtype::kInt32));
  EXPECT_EQ(Reinterpret(Wrap(~Bits{0}, Dtype::kInt16), Dtype::kFloat16), 0xffffu);
  EXPECT_EQ(Reinterpret(Wrap(0xff, Dtype::kInt8), Dtype::kUint8), 0xffu);
  EXPECT_EQ(Reinterpret(BitsOf(1, Dtype::kFloat64), Dtype::kInt64), 0x3ff0000000000000u);
}

}  // namespace
}  // namespace hearth::fuser
