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
// Polynomials are those of support/math_polynomials.h. Without FMA the errors are larger.
#pragma once

#include "jit/fuser/llvm/llvm_scalar.h"

namespace hearth::fuser {

// ---- math_exp.cpp ----
LlvmScalar Exp(LlvmScalar x);
LlvmScalar Exp2(LlvmScalar x);
LlvmScalar Expm1(LlvmScalar x);
LlvmScalar Sinh(LlvmScalar x);
LlvmScalar Cosh(LlvmScalar x);
LlvmScalar Tanh(LlvmScalar x);

// x = n ln(2) + r, |r| <= ln(2) / 2 and a little: n as an integer, and expm1(r). For |n| < 2^21.
struct ExpParts {
  LlvmScalar n;
  LlvmScalar expm1;
};
ExpParts ReduceExp(LlvmScalar x);
// twice / 2 * 2^n, rounded once, where `twice` is near 2 and n from -180 to 128 in f32, -1270 to 1024 in f64.
LlvmScalar ScaleHalf(LlvmScalar twice, LlvmScalar n);
// 2^n where that is neither subnormal nor infinite.
LlvmScalar PowerOfTwo(LlvmScalar n);

// ---- math_log.cpp ----
LlvmScalar Log(LlvmScalar x);
LlvmScalar Log2(LlvmScalar x);
LlvmScalar Log10(LlvmScalar x);
LlvmScalar Log1p(LlvmScalar x);
LlvmScalar Asinh(LlvmScalar x);
LlvmScalar Acosh(LlvmScalar x);
LlvmScalar Atanh(LlvmScalar x);

// ---- math_trigonometry.cpp ----
LlvmScalar Sin(LlvmScalar x);
LlvmScalar Cos(LlvmScalar x);
LlvmScalar Tan(LlvmScalar x);
LlvmScalar Asin(LlvmScalar x);
LlvmScalar Acos(LlvmScalar x);
LlvmScalar Atan(LlvmScalar x);
LlvmScalar Atan2(LlvmScalar y, LlvmScalar x);

// ---- math_erf.cpp ----
LlvmScalar Erf(LlvmScalar x);
LlvmScalar Erfc(LlvmScalar x);

// ---- math_power.cpp ----
LlvmScalar Power(LlvmScalar x, LlvmScalar y);

}  // namespace hearth::fuser
