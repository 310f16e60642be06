// The functions of mathematics as code without branches or calls, so that loops around them are vectorised and images
// need no library. For f32 and f64, right for every argument: NaN, infinities, subnormal numbers, either zero.
//
// Largest errors with FMA, in units in the last place, as math_test.cpp measures and asserts them (f32: against double,
// f64: against long double):
//
//   f32  2: exp, exp2, expm1, log, log2, log10, log1p, tanh, erf, sin, cos, asin, acos, atan, atan2, power
//        4: tan, sinh, cosh, asinh, acosh, atanh, erfc
//   f64  4: all
//
// Polynomials are those of math_polynomials.h. Without FMA the errors are larger.
#pragma once

#include "jit/fuser/llvm/scalar.h"

namespace hearth::fuser {

// ---- math_exp.cpp ----
Scalar Exp(Scalar x);
Scalar Exp2(Scalar x);
Scalar Expm1(Scalar x);
Scalar Sinh(Scalar x);
Scalar Cosh(Scalar x);
Scalar Tanh(Scalar x);

// x = n ln(2) + r, |r| <= ln(2) / 2 and a little: n as an integer, and expm1(r). For |n| < 2^21.
struct ExpParts {
  Scalar n;
  Scalar expm1;
};
ExpParts ReduceExp(Scalar x);
// twice / 2 * 2^n, rounded once, where `twice` is near 2 and n from -180 to 128 in f32, -1270 to 1024 in f64.
Scalar ScaleHalf(Scalar twice, Scalar n);
// 2^n where that is neither subnormal nor infinite.
Scalar PowerOfTwo(Scalar n);

// ---- math_log.cpp ----
Scalar Log(Scalar x);
Scalar Log2(Scalar x);
Scalar Log10(Scalar x);
Scalar Log1p(Scalar x);
Scalar Asinh(Scalar x);
Scalar Acosh(Scalar x);
Scalar Atanh(Scalar x);

// ---- math_trigonometry.cpp ----
Scalar Sin(Scalar x);
Scalar Cos(Scalar x);
Scalar Tan(Scalar x);
Scalar Asin(Scalar x);
Scalar Acos(Scalar x);
Scalar Atan(Scalar x);
Scalar Atan2(Scalar y, Scalar x);

// ---- math_erf.cpp ----
Scalar Erf(Scalar x);
Scalar Erfc(Scalar x);

// ---- math_power.cpp ----
Scalar Power(Scalar x, Scalar y);

}  // namespace hearth::fuser
