#include "jit/fuser/ir/scalar_math.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace hearth::fuser {
namespace {

template <class T>
T ValueOf(Bits bits) {
  if constexpr (sizeof(T) == 4) {
    return std::bit_cast<T>(static_cast<uint32_t>(bits));
  } else {
    return std::bit_cast<T>(bits);
  }
}

template <class T>
Bits BitsOfValue(T value) {
  if constexpr (sizeof(T) == 4) {
    return std::bit_cast<uint32_t>(value);
  } else {
    return std::bit_cast<uint64_t>(value);
  }
}

int WidthOf(Dtype dtype) { return static_cast<int>(BytesOf(dtype) * 8); }

// The least and largest value of b1 or an integer dtype.
int64_t LeastOf(Dtype dtype) {
  if (dtype <= Dtype::kUint8) return 0;
  return std::numeric_limits<int64_t>::min() >> (64 - WidthOf(dtype));
}

int64_t LargestOf(Dtype dtype) {
  if (dtype == Dtype::kBool) return 1;
  if (dtype == Dtype::kUint8) return 255;
  return std::numeric_limits<int64_t>::max() >> (64 - WidthOf(dtype));
}

// ---- Integers and b1 ----

int64_t DivideInteger(int64_t a, int64_t b) {
  if (b == 0) return 0;
  // The least number divided by -1 wraps around.
  if (b == -1) return static_cast<int64_t>(-static_cast<uint64_t>(a));
  return a / b;
}

int64_t LeftOver(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }

Bits ShiftInteger(Opcode opcode, Dtype dtype, int64_t a, int64_t count) {
  const int width = WidthOf(dtype);
  const bool in_range = count >= 0 && count < width;
  switch (opcode) {
    case Opcode::kShiftLeft:
      return in_range ? static_cast<Bits>(a) << count : 0;
    case Opcode::kShiftRight:
      return static_cast<Bits>(in_range ? a >> count : (a < 0 ? -1 : 0));
    default: {
      const Bits all = ~Bits{0} >> (64 - width);
      return in_range ? (static_cast<Bits>(a) & all) >> count : 0;
    }
  }
}

Bits ComputeInteger(Opcode opcode, Dtype dtype, Bits a, Bits b) {
  const auto x = static_cast<int64_t>(a);
  const auto y = static_cast<int64_t>(b);
  switch (opcode) {
    case Opcode::kAdd:
      return a + b;
    case Opcode::kSubtract:
      return a - b;
    case Opcode::kMultiply:
      return a * b;
    case Opcode::kDivide:
      return static_cast<Bits>(DivideInteger(x, y));
    case Opcode::kFloorDivide: {
      const int64_t rest = LeftOver(x, y);
      return static_cast<Bits>(DivideInteger(x, y) - (rest != 0 && (rest < 0) != (y < 0) ? 1 : 0));
    }
    case Opcode::kRemainder: {
      const int64_t rest = LeftOver(x, y);
      return static_cast<Bits>(rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest);
    }
    case Opcode::kFmod:
      return static_cast<Bits>(LeftOver(x, y));
    case Opcode::kMinimum:
      return x <= y ? a : b;
    case Opcode::kMaximum:
      return x >= y ? a : b;
    case Opcode::kNegate:
      return -a;
    case Opcode::kAbsolute:
      return x < 0 ? -a : a;
    case Opcode::kAnd:
      return a & b;
    case Opcode::kOr:
      return a | b;
    case Opcode::kXor:
      return a ^ b;
    case Opcode::kNot:
      return ~a;
    case Opcode::kShiftLeft:
    case Opcode::kShiftRight:
    case Opcode::kShiftRightLogical:
      return ShiftInteger(opcode, dtype, x, y);
    case Opcode::kWithin:
      return a;
    default:
      return 0;
  }
}

template <class T>
bool Compare(Opcode opcode, T a, T b) {
  switch (opcode) {
    case Opcode::kEqual:
      return a == b;
    case Opcode::kNotEqual:
      return a != b;
    case Opcode::kLess:
      return a < b;
    default:
      return a <= b;
  }
}

// ---- Floating point ----

template <class T>
T FloorDivide(T a, T b) {
  if (b == 0) return a / b;
  const T rest = std::fmod(a, b);
  T quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(T{0}, a / b);
  const T down = std::floor(quotient);
  return quotient - down > T{0.5} ? down + 1 : down;
}

template <class T>
T Remainder(T a, T b) {
  const T rest = std::fmod(a, b);
  return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}

// The functions of mathematics, in double for either dtype.
double Function(Opcode opcode, double a, double b) {
  switch (opcode) {
    case Opcode::kExp:
      return std::exp(a);
    case Opcode::kExp2:
      return std::exp2(a);
    case Opcode::kExpm1:
      return std::expm1(a);
    case Opcode::kLog:
      return std::log(a);
    case Opcode::kLog2:
      return std::log2(a);
    case Opcode::kLog10:
      return std::log10(a);
    case Opcode::kLog1p:
      return std::log1p(a);
    case Opcode::kSin:
      return std::sin(a);
    case Opcode::kCos:
      return std::cos(a);
    case Opcode::kTan:
      return std::tan(a);
    case Opcode::kAsin:
      return std::asin(a);
    case Opcode::kAcos:
      return std::acos(a);
    case Opcode::kAtan:
      return std::atan(a);
    case Opcode::kAtan2:
      return std::atan2(a, b);
    case Opcode::kSinh:
      return std::sinh(a);
    case Opcode::kCosh:
      return std::cosh(a);
    case Opcode::kTanh:
      return std::tanh(a);
    case Opcode::kAsinh:
      return std::asinh(a);
    case Opcode::kAcosh:
      return std::acosh(a);
    case Opcode::kAtanh:
      return std::atanh(a);
    case Opcode::kErf:
      return std::erf(a);
    case Opcode::kErfc:
      return std::erfc(a);
    case Opcode::kPower:
      return std::pow(a, b);
    default:
      return 0;
  }
}

template <class T>
T ComputeFloating(Opcode opcode, T a, T b, T c) {
  switch (opcode) {
    case Opcode::kAdd:
      return a + b;
    case Opcode::kSubtract:
      return a - b;
    case Opcode::kMultiply:
      return a * b;
    case Opcode::kDivide:
      return a / b;
    case Opcode::kFloorDivide:
      return FloorDivide(a, b);
    case Opcode::kRemainder:
      return Remainder(a, b);
    case Opcode::kFmod:
      return std::fmod(a, b);
    case Opcode::kMinimum:
      return std::isnan(a) || a <= b ? a : b;
    case Opcode::kMaximum:
      return std::isnan(a) || a >= b ? a : b;
    case Opcode::kNegate:
      return -a;
    case Opcode::kAbsolute:
      return std::fabs(a);
    case Opcode::kFma:
      return std::fma(a, b, c);
    case Opcode::kFloor:
      return std::floor(a);
    case Opcode::kCeil:
      return std::ceil(a);
    case Opcode::kTruncate:
      return std::trunc(a);
    case Opcode::kRound:
      return std::nearbyint(a);
    case Opcode::kSquareRoot:
      return std::sqrt(a);
    case Opcode::kCopySign:
      return std::copysign(a, b);
    default:
      return static_cast<T>(Function(opcode, a, b));
  }
}

template <class T>
Bits ComputeFloatingBits(Opcode opcode, Bits a, Bits b, Bits c) {
  if (IsComparison(opcode)) return Compare(opcode, ValueOf<T>(a), ValueOf<T>(b)) ? 1 : 0;
  return BitsOfValue(ComputeFloating(opcode, ValueOf<T>(a), ValueOf<T>(b), ValueOf<T>(c)));
}

// Of f16, bf16 and f32.
float FloatOf(Bits value, Dtype dtype) {
  if (dtype == Dtype::kFloat16) return FloatOfHalf(static_cast<uint16_t>(value));
  if (dtype == Dtype::kBFloat16) return FloatOfBFloat16(static_cast<uint16_t>(value));
  return ValueOf<float>(value);
}

Bits BitsOfFloat(float value, Dtype dtype) {
  if (dtype == Dtype::kFloat16) return HalfOfFloat(value);
  if (dtype == Dtype::kBFloat16) return BFloat16OfFloat(value);
  return BitsOfValue(value);
}

// Whether the integer part is a value of the dtype. The bounds are powers of two, so they are exact in double.
bool FitsInteger(double value, Dtype dtype) {
  const double whole = std::trunc(value);
  return whole >= static_cast<double>(LeastOf(dtype)) && whole < std::ldexp(1.0, WidthOf(dtype)) &&
         (dtype == Dtype::kUint8 || whole < std::ldexp(1.0, WidthOf(dtype) - 1));
}

Bits IntegerOf(double value, Dtype dtype) {
  if (std::isnan(value)) return 0;
  if (FitsInteger(value, dtype)) return static_cast<Bits>(static_cast<int64_t>(value));
  return static_cast<Bits>(value < 0 ? LeastOf(dtype) : LargestOf(dtype));
}

}  // namespace

Bits Wrap(Bits bits, Dtype dtype) {
  switch (dtype) {
    case Dtype::kBool:
      return bits & 1;
    case Dtype::kUint8:
      return bits & 0xff;
    case Dtype::kInt8:
      return static_cast<Bits>(static_cast<int64_t>(static_cast<int8_t>(bits)));
    case Dtype::kInt16:
      return static_cast<Bits>(static_cast<int64_t>(static_cast<int16_t>(bits)));
    case Dtype::kInt32:
      return static_cast<Bits>(static_cast<int64_t>(static_cast<int32_t>(bits)));
    default:
      return bits;
  }
}

double RoundTo(Dtype dtype, double value) {
  if (std::isnan(value)) return std::numeric_limits<double>::quiet_NaN();
  return DoubleOf(BitsOf(value, dtype), dtype);
}

uint16_t HalfOfFloat(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  bits &= 0x7fffffff;
  if (bits > 0x7f800000) return sign | 0x7e00;
  // From 65520 on, half way between the largest half and 2^16.
  if (bits >= 0x477ff000) return sign | 0x7c00;
  if (bits >= 0x38800000) {
    bits += 0xfff + ((bits >> 13) & 1);
    return static_cast<uint16_t>(sign | ((bits - 0x38000000) >> 13));
  }
  // Below 2^-14 the result is a multiple of 2^-24; up to 2^-25, 0.
  if (bits <= 0x33000000) return sign;
  const uint32_t mantissa = (bits & 0x7fffff) | 0x800000;
  const uint32_t shift = 126 - (bits >> 23);
  const uint32_t down = mantissa >> shift;
  const uint32_t rest = mantissa & ((1u << shift) - 1);
  const uint32_t half = 1u << (shift - 1);
  return static_cast<uint16_t>(sign | (down + (rest > half || (rest == half && (down & 1) != 0) ? 1 : 0)));
}

uint16_t BFloat16OfFloat(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>(((bits >> 16) & 0x8000) | 0x7fc0);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float FloatOfHalf(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1f;
  const uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0x1f) {
    // A NaN becomes quiet.
    const uint32_t quiet = mantissa == 0 ? 0 : 0x400000;
    return std::bit_cast<float>(sign | 0x7f800000 | quiet | (mantissa << 13));
  }
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  return sign == 0 ? magnitude : -magnitude;
}

float FloatOfBFloat16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

Bits BitsOfConstant(const Instruction& constant) {
  return IsFloating(constant.dtype) ? BitsOf(constant.real, constant.dtype) : static_cast<Bits>(constant.integer);
}

double DoubleOf(Bits value, Dtype dtype) {
  if (!IsFloating(dtype)) return static_cast<double>(static_cast<int64_t>(value));
  return dtype == Dtype::kFloat64 ? ValueOf<double>(value) : FloatOf(value, dtype);
}

Bits BitsOf(double value, Dtype floating) {
  if (floating == Dtype::kFloat64) return BitsOfValue(value);
  return BitsOfFloat(static_cast<float>(value), floating);
}

Bits Convert(Bits value, Dtype from, Dtype to) {
  if (from == to) return value;
  if (!IsFloating(from)) {
    const auto integer = static_cast<int64_t>(value);
    if (to == Dtype::kBool) return integer != 0 ? 1 : 0;
    if (!IsFloating(to)) return Wrap(value, to);
    if (to == Dtype::kFloat64) return BitsOfValue(static_cast<double>(integer));
    return BitsOfFloat(static_cast<float>(integer), to);
  }
  const double number = DoubleOf(value, from);
  if (to == Dtype::kBool) return number != 0 ? 1 : 0;
  return IsFloating(to) ? BitsOf(number, to) : IntegerOf(number, to);
}

bool CastFits(Bits value, Dtype from, Dtype to) {
  return !IsFloating(from) || !IsInteger(to) || FitsInteger(DoubleOf(value, from), to);
}

Bits Reinterpret(Bits value, Dtype to) {
  if (!IsFloating(to)) return Wrap(value, to);
  return to == Dtype::kFloat64 ? value : value & (~Bits{0} >> (64 - WidthOf(to)));
}

Bits Compute(Opcode opcode, Dtype dtype, Bits a, Bits b, Bits c) {
  if (opcode == Opcode::kSelect) return a != 0 ? b : c;
  if (dtype == Dtype::kFloat32) return ComputeFloatingBits<float>(opcode, a, b, c);
  if (dtype == Dtype::kFloat64) return ComputeFloatingBits<double>(opcode, a, b, c);
  if (IsComparison(opcode)) return Compare(opcode, static_cast<int64_t>(a), static_cast<int64_t>(b)) ? 1 : 0;
  return Wrap(ComputeInteger(opcode, dtype, a, b), dtype);
}

Bits IdentityOf(Reduction reduction, Dtype element) {
  const double infinity = std::numeric_limits<double>::infinity();
  switch (reduction) {
    case Reduction::kSum:
      return 0;
    case Reduction::kProduct:
      return Convert(1, Dtype::kInt64, element);
    case Reduction::kMinimum:
      return IsFloating(element) ? BitsOf(infinity, element) : static_cast<Bits>(LargestOf(element));
    case Reduction::kMaximum:
      return IsFloating(element) ? BitsOf(-infinity, element) : static_cast<Bits>(LeastOf(element));
    default:
      return 0;
  }
}

bool IsBetter(Reduction reduction, Dtype dtype, Bits candidate, Bits best) {
  if (IsFloating(dtype)) {
    if (std::isnan(DoubleOf(best, dtype))) return false;
    if (std::isnan(DoubleOf(candidate, dtype))) return true;
  }
  if (reduction == Reduction::kArgMaximum) std::swap(candidate, best);
  return Compute(Opcode::kLess, dtype, candidate, best, 0) != 0;
}

Bits ReadElement(const std::byte* memory, Dtype dtype) {
  // The low bytes come first: hearth runs on little-endian processors only.
  Bits bits = 0;
  std::memcpy(&bits, memory, BytesOf(dtype));
  if (dtype == Dtype::kBool) return bits != 0 ? 1 : 0;
  return IsFloating(dtype) ? bits : Wrap(bits, dtype);
}

void WriteElement(std::byte* memory, Dtype dtype, Bits value) { std::memcpy(memory, &value, BytesOf(dtype)); }

}  // namespace hearth::fuser
