// Arithmetic, comparison and logic on int, float, bool and complex.
#include <cmath>
#include <limits>
#include <stdexcept>

#include "jit/operators/native_support.h"

namespace hearth::native {
namespace {

// Entries are captureless lambdas; these two give them typed arguments.
template <typename A, auto kFunction>
void Unary(NativeArguments in, IValue* out) {
  *out = kFunction(Get<A>(in[0]));
}
template <typename A, typename B, auto kFunction>
void Binary(NativeArguments in, IValue* out) {
  *out = kFunction(Get<A>(in[0]), Get<B>(in[1]));
}

// Two's complement arithmetic: Python's integers do not wrap, TorchScript's do.
constexpr auto kAdd = [](auto a, auto b) {
  if constexpr (std::is_same_v<decltype(a), int64_t> && std::is_same_v<decltype(b), int64_t>) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
};
constexpr auto kSub = [](auto a, auto b) {
  if constexpr (std::is_same_v<decltype(a), int64_t> && std::is_same_v<decltype(b), int64_t>) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  } else {
    return a - b;
  }
};
constexpr auto kMul = [](auto a, auto b) {
  if constexpr (std::is_same_v<decltype(a), int64_t> && std::is_same_v<decltype(b), int64_t>) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
};
constexpr auto kDiv = [](auto a, auto b) {
  if constexpr (std::is_same_v<decltype(a), int64_t>) {
    return static_cast<double>(a) / static_cast<double>(b);
  } else {
    return a / b;
  }
};
constexpr auto kEq = [](auto a, auto b) { return a == b; };
constexpr auto kNe = [](auto a, auto b) { return a != b; };
constexpr auto kLt = [](auto a, auto b) { return a < b; };
constexpr auto kLe = [](auto a, auto b) { return a <= b; };
constexpr auto kGt = [](auto a, auto b) { return a > b; };
constexpr auto kGe = [](auto a, auto b) { return a >= b; };
// A nan compares false, so the second is taken.
constexpr auto kMin = [](auto a, auto b) {
  using T = std::common_type_t<decltype(a), decltype(b)>;
  return a < b ? static_cast<T>(a) : static_cast<T>(b);
};
constexpr auto kMax = [](auto a, auto b) {
  using T = std::common_type_t<decltype(a), decltype(b)>;
  return a > b ? static_cast<T>(a) : static_cast<T>(b);
};

// Rounds towards minus infinity, as Python does. LibTorch ends the process for INT64_MIN // -1.
int64_t FloorDivide(int64_t a, int64_t b) {
  if (b == 0) throw std::runtime_error("division by 0");
  if (b == -1) {
    if (a == std::numeric_limits<int64_t>::min()) throw std::runtime_error("integer overflow in division");
    return -a;
  }
  const int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

// The remainder has the divisor's sign. LibTorch ends the process for a divisor of 0.
int64_t Remainder(int64_t a, int64_t b) {
  if (b == 0) throw std::runtime_error("ZeroDivisionError: integer division or modulo by zero");
  if (b == -1) return 0;
  const int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

constexpr auto kFloorDivFloat = [](auto a, auto b) { return std::floor(static_cast<double>(a) / b); };
constexpr auto kRemainderFloat = [](auto a, auto b) { return std::fmod(b + std::fmod(static_cast<double>(a), b), b); };
constexpr auto kRemainderIntDivisor = [](double a, int64_t b) {
  const double divisor = static_cast<double>(b);
  return std::fmod(divisor + std::fmod(a, divisor), divisor);
};

// Of numbers whose types are known only when it runs.
void RemainderOfNumbers(NativeArguments in, IValue* out) {
  const IValue& a = in[0];
  const IValue& b = in[1];
  if (a.isInt() && b.isDouble()) {
    *out = kRemainderFloat(Get<int64_t>(a), b.toDouble());
  } else if (a.isDouble() && b.isInt()) {
    *out = kRemainderIntDivisor(a.toDouble(), Get<int64_t>(b));
  } else if (a.isDouble() && b.isDouble()) {
    *out = kRemainderFloat(a.toDouble(), b.toDouble());
  } else {
    *out = Remainder(Get<int64_t>(a), Get<int64_t>(b));
  }
}

void DivMod(NativeArguments in, IValue* out) {
  const int64_t a = Get<int64_t>(in[0]);
  const int64_t b = Get<int64_t>(in[1]);
  if (b == 0) throw std::runtime_error("ZeroDivisionError: integer division or modulo by zero");
  const int64_t quotient = FloorDivide(a, b);
  const int64_t remainder = Remainder(a, b);
  out[0] = quotient;
  out[1] = remainder;
}

// The processor takes the shift count modulo 64.
int64_t ShiftLeft(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) << (b & 63)); }
int64_t ShiftRight(int64_t a, int64_t b) { return a >> (b & 63); }

int64_t DeriveIndex(int64_t index, int64_t start, int64_t step) { return kAdd(start, kMul(index, step)); }

// How many indices range(low, high, step) has.
int64_t RangeLength(int64_t low, int64_t high, int64_t step) {
  if (step == 0) throw std::runtime_error("range() arg 3 must not be zero");
  // In two's complement throughout.
  if (step > 0 && low < high) return kAdd(int64_t{1}, kSub(kSub(high, int64_t{1}), low) / step);
  if (step < 0 && low > high) {
    const int64_t stride = kSub(int64_t{0}, step);
    const int64_t distance = kSub(kSub(low, int64_t{1}), high);
    return kAdd(int64_t{1}, stride == -1 ? kSub(int64_t{0}, distance) : distance / stride);
  }
  return 0;
}

// A Scalar argument is whichever of int, float, bool and complex came.
void ScalarToInt(NativeArguments in, IValue* out) {
  *out = in[0].isInt() ? Get<int64_t>(in[0]) : static_cast<int64_t>(in[0].toScalar().toInt());
}
void ScalarToFloat(NativeArguments in, IValue* out) {
  const IValue& value = in[0];
  if (value.isDouble()) {
    *out = value.toDouble();
  } else if (value.isComplexDouble()) {
    *out = value.toComplexDouble().real();
  } else if (value.isBool()) {
    *out = static_cast<double>(value.toBool());
  } else {
    *out = static_cast<double>(value.toInt());
  }
}

#define INT_FLOAT(name, function)                                        \
  {"aten::" name ".int", Binary<int64_t, int64_t, function>},            \
      {"aten::" name ".float", Binary<double, double, function>},        \
      {"aten::" name ".int_float", Binary<int64_t, double, function>}, { \
    "aten::" name ".float_int", Binary<double, int64_t, function>        \
  }
#define COMPLEX(name, function)                                              \
  {"aten::" name ".complex", Binary<Complex, Complex, function>},            \
      {"aten::" name ".complex_float", Binary<Complex, double, function>}, { \
    "aten::" name ".float_complex", Binary<double, Complex, function>        \
  }

constexpr NativeEntry kEntries[] = {
    INT_FLOAT("add", kAdd),
    COMPLEX("add", kAdd),
    INT_FLOAT("sub", kSub),
    COMPLEX("sub", kSub),
    INT_FLOAT("mul", kMul),
    COMPLEX("mul", kMul),
    {"aten::div.int", Binary<int64_t, int64_t, kDiv>},
    {"aten::div.float", Binary<double, double, kDiv>},
    {"aten::div.complex", Binary<Complex, Complex, kDiv>},
    INT_FLOAT("eq", kEq),
    COMPLEX("eq", kEq),
    {"aten::eq.bool", Binary<bool, bool, kEq>},
    INT_FLOAT("ne", kNe),
    COMPLEX("ne", kNe),
    {"aten::ne.bool", Binary<bool, bool, kNe>},
    INT_FLOAT("lt", kLt),
    INT_FLOAT("le", kLe),
    INT_FLOAT("gt", kGt),
    INT_FLOAT("ge", kGe),
    {"prim::min.int", Binary<int64_t, int64_t, kMin>},
    {"prim::min.float", Binary<double, double, kMin>},
    {"prim::min.int_float", Binary<int64_t, double, kMin>},
    {"prim::min.float_int", Binary<double, int64_t, kMin>},
    {"prim::max.int", Binary<int64_t, int64_t, kMax>},
    {"prim::max.float", Binary<double, double, kMax>},
    {"prim::max.int_float", Binary<int64_t, double, kMax>},
    {"prim::max.float_int", Binary<double, int64_t, kMax>},
    {"aten::floordiv.int", Binary<int64_t, int64_t, FloorDivide>},
    {"aten::floordiv.float", Binary<double, double, kFloorDivFloat>},
    {"aten::floordiv.int_float", Binary<int64_t, double, kFloorDivFloat>},
    {"aten::floordiv.float_int", Binary<double, int64_t, kFloorDivFloat>},
    {"aten::remainder.int", Binary<int64_t, int64_t, Remainder>},
    {"aten::remainder.float", Binary<double, double, kRemainderFloat>},
    {"aten::remainder.int_float", Binary<int64_t, double, kRemainderFloat>},
    {"aten::remainder.float_int", Binary<double, int64_t, kRemainderIntDivisor>},
    {"aten::remainder", RemainderOfNumbers},
    {"aten::divmod.int", DivMod},
    {"aten::__and__.int", Binary<int64_t, int64_t, [](int64_t a, int64_t b) { return a & b; }>},
    {"aten::__and__.bool", Binary<bool, bool, [](bool a, bool b) { return a && b; }>},
    {"aten::__or__.int", Binary<int64_t, int64_t, [](int64_t a, int64_t b) { return a | b; }>},
    {"aten::__or__.bool", Binary<bool, bool, [](bool a, bool b) { return a || b; }>},
    {"aten::__xor__.int", Binary<int64_t, int64_t, [](int64_t a, int64_t b) { return a ^ b; }>},
    {"aten::__xor__.bool", Binary<bool, bool, kNe>},
    {"aten::__lshift__.int", Binary<int64_t, int64_t, ShiftLeft>},
    {"aten::__rshift__.int", Binary<int64_t, int64_t, ShiftRight>},
    {"aten::__not__", Unary<bool, [](bool a) { return !a; }>},
    {"aten::neg.int", Unary<int64_t, [](int64_t a) { return kSub(int64_t{0}, a); }>},
    {"aten::neg.float", Unary<double, [](double a) { return -a; }>},
    {"aten::neg.complex", Unary<Complex, [](Complex a) { return -a; }>},
    {"prim::abs.int", Unary<int64_t, [](int64_t a) { return a < 0 ? kSub(int64_t{0}, a) : a; }>},
    {"prim::abs.float", Unary<double, [](double a) { return std::abs(a); }>},
    {"prim::abs.complex", Unary<Complex, [](Complex a) { return std::abs(a); }>},
    {"aten::Bool.int", Unary<int64_t, [](int64_t a) { return a != 0; }>},
    {"aten::Bool.float", Unary<double, [](double a) { return a != 0; }>},
    {"aten::Int.bool", Unary<bool, [](bool a) { return static_cast<int64_t>(a); }>},
    {"aten::Int.float", Unary<double, [](double a) { return static_cast<int64_t>(a); }>},
    {"aten::Int.Scalar", ScalarToInt},
    {"aten::Float.bool", Unary<bool, [](bool a) { return static_cast<double>(a); }>},
    {"aten::Float.int", Unary<int64_t, [](int64_t a) { return static_cast<double>(static_cast<float>(a)); }>},
    {"aten::Float.Scalar", ScalarToFloat},
    {"aten::__range_length",
     [](NativeArguments in,
        IValue* out) { *out = RangeLength(Get<int64_t>(in[0]), Get<int64_t>(in[1]), Get<int64_t>(in[2])); }},
    {"aten::__derive_index",
     [](NativeArguments in,
        IValue* out) { *out = DeriveIndex(Get<int64_t>(in[0]), Get<int64_t>(in[1]), Get<int64_t>(in[2])); }},
};

#undef INT_FLOAT
#undef COMPLEX

}  // namespace

std::span<const NativeEntry> ScalarNatives() { return kEntries; }

}  // namespace hearth::native
