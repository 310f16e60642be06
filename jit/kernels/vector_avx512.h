// Vectors of sixteen floats, under the names that vectors of eight have too (vector_avx2.h), for loops that are
// compiled for both: between HEARTH_AVX512_BEGIN and HEARTH_AVX512_END.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "jit/kernels/target.h"
#include "jit/kernels/transpose.h"
#include "jit/kernels/vector_math.h"

namespace hearth::kernels::avx512 {

inline constexpr int64_t kLanes = 16;
// That hold sums, beside what is multiplied.
inline constexpr int kSumRegisters = 24;
// Whether an instruction multiplies a vector with a number in memory.
inline constexpr bool kBroadcastsInProducts = true;

HEARTH_AVX512_BEGIN

#define HEARTH_INLINE static inline __attribute__((always_inline))

using Vector = __m512;

HEARTH_INLINE Vector Broadcast(float x) { return _mm512_set1_ps(x); }
HEARTH_INLINE Vector Zeros() { return _mm512_setzero_ps(); }

HEARTH_INLINE __mmask16 LanesBelow(int64_t count) {
  return static_cast<__mmask16>(count >= kLanes ? 0xffff : count <= 0 ? 0 : (1 << count) - 1);
}

// Of aligned memory.
HEARTH_INLINE Vector Load(const float* from) { return _mm512_load_ps(from); }
HEARTH_INLINE void Store(float* to, Vector x) { _mm512_store_ps(to, x); }
// Of any memory.
HEARTH_INLINE Vector LoadUnaligned(const float* from) { return _mm512_loadu_ps(from); }
HEARTH_INLINE void StoreUnaligned(float* to, Vector x) { _mm512_storeu_ps(to, x); }
// The first `count`, of any memory; zeros where there are no more.
HEARTH_INLINE Vector LoadFirst(const float* from, int64_t count) {
  return _mm512_maskz_loadu_ps(LanesBelow(count), from);
}
HEARTH_INLINE void StoreFirst(float* to, int64_t count, Vector x) { _mm512_mask_storeu_ps(to, LanesBelow(count), x); }

HEARTH_INLINE Vector Add(Vector x, Vector y) { return _mm512_add_ps(x, y); }
HEARTH_INLINE Vector Subtract(Vector x, Vector y) { return _mm512_sub_ps(x, y); }
HEARTH_INLINE Vector Multiply(Vector x, Vector y) { return _mm512_mul_ps(x, y); }
HEARTH_INLINE Vector Divide(Vector x, Vector y) { return _mm512_div_ps(x, y); }
HEARTH_INLINE Vector MultiplyAdd(Vector x, Vector y, Vector z) { return _mm512_fmadd_ps(x, y, z); }
// MultiplyAdd, but that the sum stays in its register.
HEARTH_INLINE void AddProduct(Vector& sum, Vector x, Vector y) {
  asm volatile("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(x), "v"(y));
}
// With the number at `x`, in one instruction.
HEARTH_INLINE void AddProduct(Vector& sum, const float* x, Vector y) {
  asm volatile("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(y), "m"(*x));
}
// y where either is NaN.
HEARTH_INLINE Vector Max(Vector x, Vector y) { return _mm512_max_ps(x, y); }
HEARTH_INLINE Vector Min(Vector x, Vector y) { return _mm512_min_ps(x, y); }
// `then` where x is y, else `other`.
HEARTH_INLINE Vector WhereEqual(Vector x, Vector y, Vector then, Vector other) {
  return _mm512_mask_mov_ps(other, _mm512_cmp_ps_mask(x, y, _CMP_EQ_OQ), then);
}
// For x up to 89 and NaN; exp(-104) for what is less.
HEARTH_INLINE Vector Exp(Vector x) { return ExpWithin(AtLeast(x, -104)); }

HEARTH_INLINE void Transpose(Vector (&rows)[kLanes]) { Transpose16(rows); }

#undef HEARTH_INLINE

HEARTH_AVX512_END

}  // namespace hearth::kernels::avx512
