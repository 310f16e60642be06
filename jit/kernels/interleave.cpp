#include "jit/kernels/interleave.h"

#include <immintrin.h>

#include "jit/kernels/target.h"

namespace hearth::kernels {
namespace {

void InterleaveRow(const Interleaving& interleaving, int64_t row) {
  const auto count = static_cast<int64_t>(interleaving.sources.size());
  float* const to = interleaving.result + row * interleaving.result_stride;
  for (int64_t s = 0; s < count; ++s) {
    const RowSource& source = interleaving.sources[static_cast<size_t>(s)];
    const float* const from = source.rows + row * source.stride;
    for (int64_t i = 0; i < interleaving.width; ++i) to[i * count + s] = from[i];
  }
}

HEARTH_AVX512_BEGIN

inline __mmask16 FirstLanes(int64_t count) {
  return static_cast<__mmask16>(count >= kLanes ? 0xffff : count <= 0 ? 0 : (1 << count) - 1);
}

void InterleavePairs(const Interleaving& interleaving, int64_t begin, int64_t end) {
  const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const __m512i high = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  const int64_t rest = interleaving.width % kLanes, whole = interleaving.width - rest;
  const __mmask16 read = FirstLanes(rest), write_low = FirstLanes(2 * rest), write_high = FirstLanes(2 * rest - kLanes);
  const RowSource &even = interleaving.sources[0], &odd = interleaving.sources[1];
  for (int64_t row = begin; row < end; ++row) {
    const float *const a = even.rows + row * even.stride, *const b = odd.rows + row * odd.stride;
    float* const to = interleaving.result + row * interleaving.result_stride;
    for (int64_t i = 0; i < whole; i += kLanes) {
      const __m512 x = _mm512_loadu_ps(a + i), y = _mm512_loadu_ps(b + i);
      _mm512_storeu_ps(to + 2 * i, _mm512_permutex2var_ps(x, low, y));
      _mm512_storeu_ps(to + 2 * i + kLanes, _mm512_permutex2var_ps(x, high, y));
    }
    if (rest == 0) continue;
    const __m512 x = _mm512_maskz_loadu_ps(read, a + whole), y = _mm512_maskz_loadu_ps(read, b + whole);
    _mm512_mask_storeu_ps(to + 2 * whole, write_low, _mm512_permutex2var_ps(x, low, y));
    _mm512_mask_storeu_ps(to + 2 * whole + kLanes, write_high, _mm512_permutex2var_ps(x, high, y));
  }
}

HEARTH_AVX512_END

}  // namespace

void Interleave(const Interleaving& interleaving, int64_t begin, int64_t end) {
  if (interleaving.sources.size() == 2 && HasAvx512()) return InterleavePairs(interleaving, begin, end);
  for (int64_t row = begin; row < end; ++row) InterleaveRow(interleaving, row);
}

}  // namespace hearth::kernels
