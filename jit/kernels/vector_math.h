// Functions of sixteen floats at a time, for loops between HEARTH_AVX512_BEGIN and HEARTH_AVX512_END. They are what
// ATen's functions of the same names give, NaN and infinities included, within 4 ulp, but that sigmoid and silu are 0
// below -87, where ATen's are at most 2e-36 away from it, and that GELU's errors are relative to its argument. But for
// GELU's, the algorithms are those of generated code (fuser/llvm/math_*.cpp); quotients are products with a reciprocal
// that one step of Newton's has made exact to the last bit or two.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <limits>

#include "jit/kernels/target.h"
#include "jit/support/math_polynomials.h"

namespace hearth::kernels {

HEARTH_AVX512_BEGIN

#define HEARTH_VECTOR_FUNCTION static inline __attribute__((always_inline)) __m512

HEARTH_VECTOR_FUNCTION Number(double x) { return _mm512_set1_ps(static_cast<float>(x)); }

template <size_t kCount>
HEARTH_VECTOR_FUNCTION Polynomial(__m512 x, const double (&coefficients)[kCount]) {
  __m512 sum = Number(coefficients[kCount - 1]);
  for (size_t i = kCount - 1; i-- > 0;) sum = _mm512_fmadd_ps(sum, x, Number(coefficients[i]));
  return sum;
}

// NaN if x is.
HEARTH_VECTOR_FUNCTION AtLeast(__m512 x, double least) { return _mm512_max_ps(Number(least), x); }
HEARTH_VECTOR_FUNCTION AtMost(__m512 x, double most) { return _mm512_min_ps(Number(most), x); }

HEARTH_VECTOR_FUNCTION WithSignOf(__m512 magnitude, __m512 sign) {
  return _mm512_or_ps(magnitude, _mm512_and_ps(sign, Number(-0.0)));
}

// 1 / x for x from 1e-37 to 1e37.
HEARTH_VECTOR_FUNCTION Reciprocal(__m512 x) {
  const __m512 guess = _mm512_rcp14_ps(x);
  return _mm512_fmadd_ps(guess, _mm512_fnmadd_ps(x, guess, Number(1)), guess);
}

constexpr double kRoundingShift = 12582912;  // rounds to an integer what is added to it
constexpr double kLog2E = 1.44269504088896341, kLn2High = 0.693359375, kLn2Low = -2.12194440054690583e-4;

// exp(n ln(2) + r), |r| <= ln(2) / 2.
HEARTH_VECTOR_FUNCTION ExpOfParts(__m512 n, __m512 r) {
  const __m512 expm1 = _mm512_fmadd_ps(_mm512_mul_ps(r, r), Polynomial(r, polynomials::kExp32), r);
  return _mm512_scalef_ps(_mm512_add_ps(expm1, Number(1)), n);
}

// For x from -104 to 89 and NaN.
HEARTH_VECTOR_FUNCTION ExpWithin(__m512 x) {
  const __m512 n = _mm512_sub_ps(_mm512_fmadd_ps(x, Number(kLog2E), Number(kRoundingShift)), Number(kRoundingShift));
  return ExpOfParts(n, _mm512_fnmadd_ps(n, Number(kLn2Low), _mm512_fnmadd_ps(n, Number(kLn2High), x)));
}

HEARTH_VECTOR_FUNCTION Exp(__m512 x) { return ExpWithin(AtLeast(AtMost(x, 89), -104)); }

// factor / (1 + exp(-x)), and factor * 0 for x below -87.
HEARTH_VECTOR_FUNCTION TimesSigmoid(__m512 factor, __m512 x) {
  const __mmask16 is_large = _mm512_cmp_ps_mask(x, Number(-87), _CMP_NLT_UQ);
  const __m512 bounded = AtMost(x, 104);
  // As ExpWithin(-bounded), without turning the sign first.
  const __m512 n =
      _mm512_sub_ps(_mm512_fnmadd_ps(bounded, Number(kLog2E), Number(kRoundingShift)), Number(kRoundingShift));
  const __m512 r = _mm512_fnmadd_ps(n, Number(kLn2Low), _mm512_fnmsub_ps(n, Number(kLn2High), bounded));
  const __m512 divisor = _mm512_add_ps(ExpOfParts(n, r), Number(1));
  const __m512 guess = _mm512_rcp14_ps(divisor);
  const __m512 error = _mm512_fnmadd_ps(divisor, guess, Number(1));
  return _mm512_mul_ps(factor, _mm512_maskz_fmadd_ps(is_large, guess, error, guess));
}

HEARTH_VECTOR_FUNCTION Sigmoid(__m512 x) { return TimesSigmoid(Number(1), x); }
HEARTH_VECTOR_FUNCTION Silu(__m512 x) { return TimesSigmoid(x, x); }

HEARTH_VECTOR_FUNCTION Tanh(__m512 x) {
  // From 10 on it rounds to 1.
  const __m512 magnitude = AtMost(_mm512_abs_ps(x), 10);
  const __m512 square = _mm512_mul_ps(x, x);
  const __m512 small = _mm512_fmadd_ps(_mm512_mul_ps(x, square), Polynomial(square, polynomials::kTanh32), x);
  const __m512 exp = ExpWithin(_mm512_add_ps(magnitude, magnitude));
  const __m512 large = _mm512_fnmadd_ps(Number(2), Reciprocal(_mm512_add_ps(exp, Number(1))), Number(1));
  return _mm512_mask_mov_ps(WithSignOf(large, x), _mm512_cmp_ps_mask(magnitude, Number(0.625), _CMP_LT_OQ), small);
}

// x (1 - tail(x)) where x >= 0, else x tail(-x), for a tail that is a table of polynomials (math_polynomials.h).
HEARTH_VECTOR_FUNCTION TimesTail(__m512 x, const float (&tail)[6][16]) {
  // The tail is 0 in the middle of the last piece, so that infinities are what ATen's formulas make of them.
  const __m512 place = AtMost(_mm512_mul_ps(_mm512_abs_ps(x), Number(8.0 / 3)), 15);
  const __m512 shifted = _mm512_add_ps(place, Number(kRoundingShift));
  const __m512 r = _mm512_sub_ps(place, _mm512_sub_ps(shifted, Number(kRoundingShift)));
  // Only an index's last four bits count: the piece's number.
  const __m512i piece = _mm512_castps_si512(shifted);
  __m512 sum = _mm512_permutexvar_ps(piece, _mm512_load_ps(tail[5]));
#pragma GCC unroll 5
  for (int power = 4; power >= 0; --power)
    sum = _mm512_fmadd_ps(sum, r, _mm512_permutexvar_ps(piece, _mm512_load_ps(tail[power])));
  const __mmask16 is_positive = _mm512_cmp_ps_mask(x, Number(0), _CMP_NLT_UQ);
  return _mm512_mul_ps(x, _mm512_mask_sub_ps(sum, is_positive, Number(1), sum));
}

// x / 2 (1 + erf(x / sqrt(2)))
HEARTH_VECTOR_FUNCTION Gelu(__m512 x) { return TimesTail(x, polynomials::kGeluTail32); }

// x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
HEARTH_VECTOR_FUNCTION GeluTanh(__m512 x) { return TimesTail(x, polynomials::kGeluTanhTail32); }

HEARTH_VECTOR_FUNCTION Relu(__m512 x) { return AtLeast(x, 0); }
HEARTH_VECTOR_FUNCTION Relu6(__m512 x) { return AtMost(Relu(x), 6); }
HEARTH_VECTOR_FUNCTION LeakyRelu(__m512 x, __m512 slope) {
  return _mm512_mask_mul_ps(x, _mm512_cmp_ps_mask(x, Number(0), _CMP_LE_OQ), x, slope);
}
HEARTH_VECTOR_FUNCTION HardSigmoid(__m512 x) {
  return _mm512_mul_ps(AtMost(AtLeast(_mm512_add_ps(x, Number(3)), 0), 6), Number(1.0 / 6));
}
HEARTH_VECTOR_FUNCTION HardSwish(__m512 x) { return _mm512_mul_ps(x, HardSigmoid(x)); }

#undef HEARTH_VECTOR_FUNCTION

HEARTH_AVX512_END

}  // namespace hearth::kernels
