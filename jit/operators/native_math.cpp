// Python's math functions on int and float.
#include <cmath>
#include <limits>
#include <stdexcept>

#include "jit/operators/native_support.h"

namespace hearth::native {
namespace {

template <double (*kFunction)(double)>
void OfFloat(NativeArguments in, IValue* out) {
  *out = kFunction(in[0].toDouble());
}
template <double (*kFunction)(double)>
void OfInt(NativeArguments in, IValue* out) {
  *out = kFunction(static_cast<double>(in[0].toInt()));
}
template <double (*kFunction)(double, double)>
void OfFloats(NativeArguments in, IValue* out) {
  *out = kFunction(in[0].toDouble(), in[1].toDouble());
}
template <double (*kFunction)(double, double)>
void OfInts(NativeArguments in, IValue* out) {
  *out = kFunction(static_cast<double>(in[0].toInt()), static_cast<double>(in[1].toInt()));
}
template <double (*kFunction)(double, double)>
void OfIntAndFloat(NativeArguments in, IValue* out) {
  *out = kFunction(static_cast<double>(in[0].toInt()), in[1].toDouble());
}
template <double (*kFunction)(double, double)>
void OfFloatAndInt(NativeArguments in, IValue* out) {
  *out = kFunction(in[0].toDouble(), static_cast<double>(in[1].toInt()));
}

double Pow(double a, double b) {
  TORCH_CHECK(!(a == 0.0 && b < 0.0), "0.0 cannot be raised to a negative power");
  return std::pow(a, b);
}

double RoundHalfToEven(double a) {
  return std::trunc(a) == a ? a : (std::abs(a - std::trunc(a)) == 0.5 ? 2.0 * std::round(a * 0.5) : std::round(a));
}

constexpr double kPi = 3.14159265358979323846;
double Degrees(double a) { return a * (180.0 / kPi); }
double Radians(double a) { return a * (kPi / 180.0); }

double Sqrt(double a) { return std::sqrt(a); }
double Exp(double a) { return std::exp(a); }
double Expm1(double a) { return std::expm1(a); }
double Log(double a) { return std::log(a); }
double Log1p(double a) { return std::log1p(a); }
double Log10(double a) { return std::log10(a); }
double Sin(double a) { return std::sin(a); }
double Cos(double a) { return std::cos(a); }
double Tan(double a) { return std::tan(a); }
double Asin(double a) { return std::asin(a); }
double Acos(double a) { return std::acos(a); }
double Atan(double a) { return std::atan(a); }
double Sinh(double a) { return std::sinh(a); }
double Cosh(double a) { return std::cosh(a); }
double Tanh(double a) { return std::tanh(a); }
double Asinh(double a) { return std::asinh(a); }
double Acosh(double a) { return std::acosh(a); }
double Atanh(double a) { return std::atanh(a); }
double Erf(double a) { return std::erf(a); }
double Erfc(double a) { return std::erfc(a); }
double Gamma(double a) { return std::tgamma(a); }
double Lgamma(double a) { return std::lgamma(a); }
double Fabs(double a) { return std::fabs(a); }
double Atan2(double a, double b) { return std::atan2(a, b); }
double Fmod(double a, double b) { return std::fmod(a, b); }
double Copysign(double a, double b) { return std::copysign(a, b); }
double MathRemainder(double a, double b) { return std::remainder(a, b); }

// The result must fit an int; nan and what is too large do not.
int64_t ToInt(double original, double rounded) {
  constexpr double kLimit = 9223372036854775808.0;
  if (rounded >= -kLimit && rounded < kLimit) return static_cast<int64_t>(rounded);
  TORCH_CHECK(false, "Cannot convert float ", std::to_string(original), " to integer");
}
void Floor(NativeArguments in, IValue* out) {
  const double a = in[0].toDouble();
  *out = ToInt(a, std::floor(a));
}
void Ceil(NativeArguments in, IValue* out) {
  const double a = in[0].toDouble();
  *out = ToInt(a, std::ceil(a));
}
// An int takes the way through a float, as in LibTorch.
void ThroughFloat(NativeArguments in, IValue* out) { *out = static_cast<int64_t>(static_cast<double>(in[0].toInt())); }

int64_t Gcd(int64_t a, int64_t b) {
  uint64_t x = a < 0 ? uint64_t{0} - static_cast<uint64_t>(a) : static_cast<uint64_t>(a);
  uint64_t y = b < 0 ? uint64_t{0} - static_cast<uint64_t>(b) : static_cast<uint64_t>(b);
  while (y != 0) {
    const uint64_t rest = x % y;
    x = y;
    y = rest;
  }
  return static_cast<int64_t>(x);
}

void Modf(NativeArguments in, IValue* out) {
  double whole;
  const double fraction = std::modf(in[0].toDouble(), &whole);
  out[0] = fraction;
  out[1] = whole;
}
void Frexp(NativeArguments in, IValue* out) {
  int exponent;
  const double mantissa = std::frexp(in[0].toDouble(), &exponent);
  out[0] = mantissa;
  out[1] = static_cast<int64_t>(exponent);
}

#define ONE(name, function) \
  {"aten::" name ".float", OfFloat<function>}, { "aten::" name ".int", OfInt<function> }
#define TWO(name, function)                                                               \
  {"aten::" name ".float", OfFloats<function>}, {"aten::" name ".int", OfInts<function>}, \
      {"aten::" name ".int_float", OfIntAndFloat<function>}, {                            \
    "aten::" name ".float_int", OfFloatAndInt<function>                                   \
  }

constexpr NativeEntry kEntries[] = {
    ONE("sqrt", Sqrt),
    ONE("exp", Exp),
    ONE("expm1", Expm1),
    ONE("log", Log),
    ONE("log1p", Log1p),
    ONE("log10", Log10),
    ONE("sin", Sin),
    ONE("cos", Cos),
    ONE("tan", Tan),
    ONE("asin", Asin),
    ONE("acos", Acos),
    ONE("atan", Atan),
    ONE("sinh", Sinh),
    ONE("cosh", Cosh),
    ONE("tanh", Tanh),
    ONE("asinh", Asinh),
    ONE("acosh", Acosh),
    ONE("atanh", Atanh),
    ONE("erf", Erf),
    ONE("erfc", Erfc),
    ONE("gamma", Gamma),
    ONE("lgamma", Lgamma),
    ONE("fabs", Fabs),
    ONE("degrees", Degrees),
    ONE("radians", Radians),
    ONE("round", RoundHalfToEven),
    TWO("pow", Pow),
    TWO("atan2", Atan2),
    TWO("fmod", Fmod),
    TWO("copysign", Copysign),
    TWO("mathremainder", MathRemainder),
    {"aten::floor.float", Floor},
    {"aten::floor.int", ThroughFloat},
    {"aten::ceil.float", Ceil},
    {"aten::ceil.int", ThroughFloat},
    {"aten::isnan.float", [](NativeArguments in, IValue* out) { *out = std::isnan(in[0].toDouble()); }},
    {"aten::isinf.float", [](NativeArguments in, IValue* out) { *out = std::isinf(in[0].toDouble()); }},
    {"aten::isfinite.float", [](NativeArguments in, IValue* out) { *out = std::isfinite(in[0].toDouble()); }},
    {"aten::gcd.int", [](NativeArguments in, IValue* out) { *out = Gcd(in[0].toInt(), in[1].toInt()); }},
    {"aten::modf", Modf},
    {"aten::frexp", Frexp},
};

#undef ONE
#undef TWO

}  // namespace

std::span<const NativeEntry> MathNatives() { return kEntries; }

}  // namespace hearth::native
