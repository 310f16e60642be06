// Vectors of eight floats, under the names that vectors of sixteen have too (vector_avx512.h), for loops that are
// compiled for both: between HEARTH_AVX2_BEGIN and HEARTH_AVX2_END.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "jit/kernels/target.h"
#include "jit/support/math_polynomials.h"

namespace hearth::kernels::avx2 {

inline constexpr int64_t kLanes = 8;
// That hold sums, beside what is multiplied.
inline constexpr int kSumRegisters = 12;
// Whether an instruction multiplies a vector with a number in memory.
inline constexpr bool kBroadcastsInProducts = false;

HEARTH_AVX2_BEGIN

#define HEARTH_INLINE static inline __attribute__((always_inline))

using Vector = __m256;

HEARTH_INLINE Vector Broadcast(float x) { return _mm256_set1_ps(x); }
HEARTH_INLINE Vector Zeros() { return _mm256_setzero_ps(); }

HEARTH_INLINE __m256i LanesBelow(int64_t count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count < kLanes ? count : kLanes)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

// Of aligned memory.
HEARTH_INLINE Vector Load(const float* from) { return _mm256_load_ps(from); }
HEARTH_INLINE void Store(float* to, Vector x) { _mm256_store_ps(to, x); }
// Of any memory.
HEARTH_INLINE Vector LoadUnaligned(const float* from) { return _mm256_loadu_ps(from); }
HEARTH_INLINE void StoreUnaligned(float* to, Vector x) { _mm256_storeu_ps(to, x); }
// The first `count`, of any memory; zeros where there are no more. Stores of all lanes need no mask, which is slow on
// some processors.
HEARTH_INLINE Vector LoadFirst(const float* from, int64_t count) {
  return count >= kLanes ? _mm256_loadu_ps(from) : _mm256_maskload_ps(from, LanesBelow(count));
}
HEARTH_INLINE void StoreFirst(float* to, int64_t count, Vector x) {
  if (count >= kLanes) {
    _mm256_storeu_ps(to, x);
  } else {
    _mm256_maskstore_ps(to, LanesBelow(count), x);
  }
}

HEARTH_INLINE Vector Add(Vector x, Vector y) { return _mm256_add_ps(x, y); }
HEARTH_INLINE Vector Subtract(Vector x, Vector y) { return _mm256_sub_ps(x, y); }
HEARTH_INLINE Vector Multiply(Vector x, Vector y) { return _mm256_mul_ps(x, y); }
HEARTH_INLINE Vector Divide(Vector x, Vector y) { return _mm256_div_ps(x, y); }
HEARTH_INLINE Vector MultiplyAdd(Vector x, Vector y, Vector z) { return _mm256_fmadd_ps(x, y, z); }
// MultiplyAdd, but that the sum stays in its register.
HEARTH_INLINE void AddProduct(Vector& sum, Vector x, Vector y) {
  asm volatile("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(x), "v"(y));
}
// With the number at `x`.
HEARTH_INLINE void AddProduct(Vector& sum, const float* x, Vector y) { AddProduct(sum, Broadcast(*x), y); }
// y where either is NaN.
HEARTH_INLINE Vector Max(Vector x, Vector y) { return _mm256_max_ps(x, y); }
HEARTH_INLINE Vector Min(Vector x, Vector y) { return _mm256_min_ps(x, y); }
// `then` where x is y, else `other`.
HEARTH_INLINE Vector WhereEqual(Vector x, Vector y, Vector then, Vector other) {
  return _mm256_blendv_ps(other, then, _mm256_cmp_ps(x, y, _CMP_EQ_OQ));
}

template <size_t kCount>
HEARTH_INLINE Vector Polynomial(Vector x, const double (&coefficients)[kCount]) {
  Vector sum = Broadcast(static_cast<float>(coefficients[kCount - 1]));
  for (size_t i = kCount - 1; i-- > 0;) sum = MultiplyAdd(sum, x, Broadcast(static_cast<float>(coefficients[i])));
  return sum;
}

// For x up to 88 and NaN; 0 below -87.3, where numbers would be subnormal.
HEARTH_INLINE Vector Exp(Vector x) {
  // As in vector_math.h, but that there is no instruction for powers of two.
  constexpr float kLeast = -87.33654F;
  const Vector bounded = Max(Broadcast(kLeast), x), shift = Broadcast(12582912);  // rounds to an integer
  const Vector shifted = MultiplyAdd(bounded, Broadcast(1.44269504088896341F), shift), n = Subtract(shifted, shift);
  const Vector r =
      _mm256_fnmadd_ps(n, Broadcast(-2.12194440054690583e-4F), _mm256_fnmadd_ps(n, Broadcast(0.693359375F), bounded));
  const Vector exp = Add(MultiplyAdd(Multiply(r, r), Polynomial(r, polynomials::kExp32), r), Broadcast(1));
  const Vector power = _mm256_castsi256_ps(
      _mm256_add_epi32(_mm256_slli_epi32(_mm256_castps_si256(shifted), 23), _mm256_set1_epi32(127 << 23)));
  return _mm256_and_ps(Multiply(exp, power), _mm256_cmp_ps(x, Broadcast(kLeast), _CMP_NLT_UQ));
}

// 1 / (1 + exp(-x)), and 0 for x below -87.
HEARTH_INLINE Vector Sigmoid(Vector x) {
  const Vector negative = _mm256_min_ps(Broadcast(87), Subtract(Zeros(), x));  // NaN if x is
  const Vector quotient = Divide(Broadcast(1), Add(Exp(negative), Broadcast(1)));
  return _mm256_and_ps(quotient, _mm256_cmp_ps(x, Broadcast(-87), _CMP_NLT_UQ));
}

HEARTH_INLINE Vector Tanh(Vector x) {
  const Vector sign = _mm256_and_ps(x, Broadcast(-0.0F));
  // From 10 on it rounds to 1.
  const Vector magnitude = _mm256_min_ps(Broadcast(10), _mm256_andnot_ps(Broadcast(-0.0F), x));
  const Vector square = Multiply(x, x);
  const Vector small = MultiplyAdd(Multiply(x, square), Polynomial(square, polynomials::kTanh32), x);
  const Vector exp = Exp(Add(magnitude, magnitude));
  const Vector large = Subtract(Broadcast(1), Divide(Broadcast(2), Add(exp, Broadcast(1))));
  return _mm256_blendv_ps(_mm256_or_ps(large, sign), small, _mm256_cmp_ps(magnitude, Broadcast(0.625), _CMP_LT_OQ));
}

HEARTH_INLINE Vector Silu(Vector x) { return Multiply(x, Sigmoid(x)); }

// As in vector_math.h; a table's row of sixteen is two vectors.
HEARTH_INLINE Vector TimesTail(Vector x, const float (&tail)[6][16]) {
  const Vector shift = Broadcast(12582912);  // rounds to an integer
  const Vector place =
      _mm256_min_ps(Broadcast(15), Multiply(_mm256_andnot_ps(Broadcast(-0.0F), x), Broadcast(8.0F / 3)));
  const Vector shifted = Add(place, shift), r = Subtract(place, Subtract(shifted, shift));
  // Three bits of an index count, and the fourth says which of the two it is.
  const __m256i piece = _mm256_castps_si256(shifted);
  const Vector is_second = _mm256_castsi256_ps(_mm256_slli_epi32(piece, 28));
  const auto coefficient = [&](int power) __attribute__((always_inline)) {
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(_mm256_load_ps(tail[power]), piece),
                            _mm256_permutevar8x32_ps(_mm256_load_ps(tail[power] + kLanes), piece), is_second);
  };
  Vector sum = coefficient(5);
#pragma GCC unroll 5
  for (int power = 4; power >= 0; --power) sum = MultiplyAdd(sum, r, coefficient(power));
  const Vector is_positive = _mm256_cmp_ps(x, Zeros(), _CMP_NLT_UQ);
  return Multiply(x, _mm256_blendv_ps(sum, Subtract(Broadcast(1), sum), is_positive));
}

HEARTH_INLINE Vector Gelu(Vector x) { return TimesTail(x, polynomials::kGeluTail32); }
HEARTH_INLINE Vector GeluTanh(Vector x) { return TimesTail(x, polynomials::kGeluTanhTail32); }

HEARTH_INLINE Vector Relu(Vector x) { return Max(Zeros(), x); }
HEARTH_INLINE Vector Relu6(Vector x) { return Min(Broadcast(6), Relu(x)); }
HEARTH_INLINE Vector LeakyRelu(Vector x, Vector slope) {
  return _mm256_blendv_ps(x, Multiply(x, slope), _mm256_cmp_ps(x, Zeros(), _CMP_LE_OQ));
}
HEARTH_INLINE Vector HardSwish(Vector x) {
  const Vector bounded = Min(Broadcast(6), Max(Zeros(), Add(x, Broadcast(3))));
  return Multiply(x, Multiply(bounded, Broadcast(1.0F / 6)));
}

HEARTH_INLINE void Transpose(Vector (&rows)[kLanes]) {
  Vector pairs[kLanes], fours[kLanes];
#pragma GCC unroll 8
  for (int i = 0; i < kLanes; i += 2) {
    pairs[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
  }
#pragma GCC unroll 8
  for (int i = 0; i < kLanes; i += 4) {
#pragma GCC unroll 2
    for (int k = 0; k < 2; ++k) {
      fours[i + 2 * k] = _mm256_shuffle_ps(pairs[i + k], pairs[i + 2 + k], _MM_SHUFFLE(1, 0, 1, 0));
      fours[i + 2 * k + 1] = _mm256_shuffle_ps(pairs[i + k], pairs[i + 2 + k], _MM_SHUFFLE(3, 2, 3, 2));
    }
  }
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    rows[c] = _mm256_permute2f128_ps(fours[c], fours[4 + c], 0x20);
    rows[4 + c] = _mm256_permute2f128_ps(fours[c], fours[4 + c], 0x31);
  }
}

#undef HEARTH_INLINE

HEARTH_AVX2_END

}  // namespace hearth::kernels::avx2
