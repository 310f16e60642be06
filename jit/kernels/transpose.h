// Sixteen rows of sixteen floats become their columns, for loops between HEARTH_AVX512_BEGIN and HEARTH_AVX512_END.
#pragma once

#include <immintrin.h>

#include "jit/kernels/target.h"

namespace hearth::kernels {

HEARTH_AVX512_BEGIN

static inline __attribute__((always_inline)) void Transpose16(__m512 (&rows)[16]) {
  __m512 pairs[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; i += 2) {
    pairs[i] = _mm512_unpacklo_ps(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_ps(rows[i], rows[i + 1]);
  }
  __m512 fours[16];  // column c of each quarter, of rows 4i to 4i + 3, in fours[4i + c]
#pragma GCC unroll 16
  for (int i = 0; i < 16; i += 4) {
#pragma GCC unroll 16
    for (int k = 0; k < 2; ++k) {
      fours[i + 2 * k] =
          _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(pairs[i + k]), _mm512_castps_pd(pairs[i + 2 + k])));
      fours[i + 2 * k + 1] =
          _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(pairs[i + k]), _mm512_castps_pd(pairs[i + 2 + k])));
    }
  }
#pragma GCC unroll 16
  for (int c = 0; c < 4; ++c) {
    const __m512 even_low = _mm512_shuffle_f32x4(fours[c], fours[4 + c], 0x88),
                 odd_low = _mm512_shuffle_f32x4(fours[c], fours[4 + c], 0xdd),
                 even_high = _mm512_shuffle_f32x4(fours[8 + c], fours[12 + c], 0x88),
                 odd_high = _mm512_shuffle_f32x4(fours[8 + c], fours[12 + c], 0xdd);
    rows[c] = _mm512_shuffle_f32x4(even_low, even_high, 0x88);
    rows[8 + c] = _mm512_shuffle_f32x4(even_low, even_high, 0xdd);
    rows[4 + c] = _mm512_shuffle_f32x4(odd_low, odd_high, 0x88);
    rows[12 + c] = _mm512_shuffle_f32x4(odd_low, odd_high, 0xdd);
  }
}

HEARTH_AVX512_END

}  // namespace hearth::kernels
