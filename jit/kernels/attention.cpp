#include "jit/kernels/attention.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "jit/kernels/target.h"
#include "jit/kernels/transpose.h"
#include "jit/kernels/vector_math.h"

namespace hearth::kernels {
namespace {

constexpr int64_t kMostQueryVectors = 4;
constexpr int64_t kKeysOfBlock = 128;

// Of keys or of a value's numbers, how many are multiplied with so many vectors at a time: their sums fill 24 registers
// at most.
constexpr int RowsFor(int vectors) { return vectors == 1 ? 12 : 24 / vectors; }

constexpr int64_t RoundUp(int64_t count, int64_t step) { return (count + step - 1) / step * step; }

struct AttentionScratchpad {
  float* queries;  // [width][vectors]
  float* results;  // [value_width][vectors]
  float* scores;   // [keys of a block][vectors]
};

// The queries of a block.
struct QueryRange {
  int64_t first, count;
};

QueryRange QueriesOf(int64_t queries, int64_t block) {
  // Blocks are alike, but for one vector.
  const int64_t vectors = (queries + kLanes - 1) / kLanes, blocks = AttentionBlocks(queries);
  const int64_t first = block * vectors / blocks * kLanes, end = (block + 1) * vectors / blocks * kLanes;
  return {first, std::min(end, queries) - first};
}

HEARTH_AVX512_BEGIN

__mmask16 LanesBelow(int64_t count) {
  return static_cast<__mmask16>(count >= kLanes ? 0xffff : count <= 0 ? 0 : (1 << count) - 1);
}

// The transpose of up to 16 rows of up to 16 floats; what there is not is zeros.
void LoadTransposed(const float* from, int64_t stride, int64_t rows, int64_t columns, __m512 (&to)[16]) {
  const __mmask16 mask = LanesBelow(columns);
  for (int64_t i = 0; i < kLanes; ++i) {
    to[i] = i < rows ? _mm512_maskz_loadu_ps(mask, from + i * stride) : _mm512_setzero_ps();
  }
  Transpose16(to);
}

template <int kVectors>
void LoadQueries(const AttentionHead& head, QueryRange range, float* to) {
  for (int64_t v = 0; v < kVectors; ++v) {
    const int64_t rows = std::clamp<int64_t>(range.count - v * kLanes, 0, kLanes);
    const float* const from = head.query + (range.first + v * kLanes) * head.query_stride;
    for (int64_t d = 0; d < head.width; d += kLanes) {
      __m512 tile[16];
      LoadTransposed(from + d, head.query_stride, rows, head.width - d, tile);
      const int64_t columns = std::min(kLanes, head.width - d);
      for (int64_t i = 0; i < columns; ++i) _mm512_store_ps(to + ((d + i) * kVectors + v) * kLanes, tile[i]);
    }
  }
}

// What is added to the scores of a block of keys.
template <int kVectors>
void LoadAddedMask(const AttentionHead& head, QueryRange range, int64_t first_key, int64_t keys, float* to) {
  const float* const from = static_cast<const float*>(head.mask) + first_key * head.mask_key_stride;
  if (head.mask_query_stride == 0) {
    for (int64_t k = 0; k < keys; ++k) {
      const __m512 added = _mm512_set1_ps(from[k * head.mask_key_stride]);
      for (int64_t v = 0; v < kVectors; ++v) _mm512_store_ps(to + (k * kVectors + v) * kLanes, added);
    }
    return;
  }
  for (int64_t v = 0; v < kVectors; ++v) {
    const int64_t rows = std::clamp<int64_t>(range.count - v * kLanes, 0, kLanes);
    const float* const row = from + (range.first + v * kLanes) * head.mask_query_stride;
    if (head.mask_key_stride == 1) {
      for (int64_t k = 0; k < keys; k += kLanes) {
        __m512 tile[16];
        LoadTransposed(row + k, head.mask_query_stride, rows, keys - k, tile);
        const int64_t columns = std::min(kLanes, keys - k);
        for (int64_t i = 0; i < columns; ++i) _mm512_store_ps(to + ((k + i) * kVectors + v) * kLanes, tile[i]);
      }
    } else {
      for (int64_t k = 0; k < keys; ++k) {
        float* const lanes = to + (k * kVectors + v) * kLanes;
        for (int64_t i = 0; i < kLanes; ++i) {
          lanes[i] = i < rows ? row[i * head.mask_query_stride + k * head.mask_key_stride] : 0;
        }
      }
    }
  }
}

template <int kVectors>
void LoadKeptMask(const AttentionHead& head, QueryRange range, int64_t first_key, int64_t keys, float* to) {
  const auto* const from =
      static_cast<const bool*>(head.mask) + range.first * head.mask_query_stride + first_key * head.mask_key_stride;
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  for (int64_t k = 0; k < keys; ++k) {
    for (int64_t i = 0; i < kVectors * kLanes; ++i) {
      const bool kept = i >= range.count || from[i * head.mask_query_stride + k * head.mask_key_stride];
      to[k * kVectors * kLanes + i] = kept ? 0 : kNever;
    }
  }
}

// scores = scale * products (+ scores) of some keys with all queries.
template <int kVectors, int kRows>
void ScoreKeys(const float* queries, int64_t width, const float* key, int64_t stride, float scale, bool adds,
               float* scores) {
  __m512 sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) sums[row][v] = _mm512_setzero_ps();
  }
  for (int64_t d = 0; d < width; ++d) {
    __m512 query[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) query[v] = _mm512_load_ps(queries + (d * kVectors + v) * kLanes);
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      const __m512 number = _mm512_set1_ps(key[row * stride + d]);
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sums[row][v] = _mm512_fmadd_ps(number, query[v], sums[row][v]);
    }
  }
  const __m512 factor = _mm512_set1_ps(scale);
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      float* const to = scores + (row * kVectors + v) * kLanes;
      const __m512 before = adds ? _mm512_load_ps(to) : _mm512_setzero_ps();
      _mm512_store_ps(to, _mm512_fmadd_ps(sums[row][v], factor, before));
    }
  }
}

// results = results * factors + the products of all weights with some numbers of each value.
template <int kVectors, int kRows>
void AddValues(const float* weights, int64_t keys, const float* value, int64_t stride, const float* factors,
               float* results) {
  __m512 sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      const __m512 before = _mm512_load_ps(results + (row * kVectors + v) * kLanes);
      sums[row][v] = _mm512_mul_ps(before, _mm512_load_ps(factors + v * kLanes));
    }
  }
  for (int64_t k = 0; k < keys; ++k) {
    __m512 weight[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) weight[v] = _mm512_load_ps(weights + (k * kVectors + v) * kLanes);
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      const __m512 number = _mm512_set1_ps(value[k * stride + row]);
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sums[row][v] = _mm512_fmadd_ps(number, weight[v], sums[row][v]);
    }
  }
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) _mm512_store_ps(results + (row * kVectors + v) * kLanes, sums[row][v]);
  }
}

using ScoreFunction = void (*)(const float*, int64_t, const float*, int64_t, float, bool, float*);
using AddFunction = void (*)(const float*, int64_t, const float*, int64_t, const float*, float*);

// By how many rows, less one.
template <int kVectors, size_t... kIndex>
constexpr std::array<ScoreFunction, sizeof...(kIndex)> ScoreFunctions(std::index_sequence<kIndex...> /*rows*/) {
  return {ScoreKeys<kVectors, kIndex + 1>...};
}
template <int kVectors, size_t... kIndex>
constexpr std::array<AddFunction, sizeof...(kIndex)> AddFunctions(std::index_sequence<kIndex...> /*rows*/) {
  return {AddValues<kVectors, kIndex + 1>...};
}

// Scores become weights of the largest score so far, which is kept, as are the weights' sums. `factors`: what results
// of smaller ones are to be multiplied with.
template <int kVectors>
void WeighScores(float* scores, int64_t keys, __m512 (&largest)[kVectors], __m512 (&sums)[kVectors], float* factors) {
  __m512 most[kVectors], base[kVectors];
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) most[v] = largest[v];
  for (int64_t k = 0; k < keys; ++k) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      most[v] = _mm512_max_ps(most[v], _mm512_load_ps(scores + (k * kVectors + v) * kLanes));
    }
  }
  const __m512 never = Number(-std::numeric_limits<double>::infinity());
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) {
    base[v] = _mm512_mask_mov_ps(most[v], _mm512_cmp_ps_mask(most[v], never, _CMP_EQ_OQ), _mm512_setzero_ps());
    const __m512 factor = ExpWithin(AtLeast(_mm512_sub_ps(largest[v], base[v]), -104));
    _mm512_store_ps(factors + v * kLanes, factor);
    sums[v] = _mm512_mul_ps(sums[v], factor);
    largest[v] = most[v];
  }
  for (int64_t k = 0; k < keys; ++k) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      float* const at = scores + (k * kVectors + v) * kLanes;
      const __m512 weight = ExpWithin(AtLeast(_mm512_sub_ps(_mm512_load_ps(at), base[v]), -104));
      sums[v] = _mm512_add_ps(sums[v], weight);
      _mm512_store_ps(at, weight);
    }
  }
}

// What a query must not see, as it comes later.
template <int kVectors>
void HideLaterKeys(QueryRange range, int64_t first_key, int64_t keys, float* scores) {
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512 never = Number(-std::numeric_limits<double>::infinity());
  for (int64_t k = std::max<int64_t>(range.first + 1 - first_key, 0); k < keys; ++k) {
    const __m512i seen_from = _mm512_set1_epi32(static_cast<int>(first_key + k - range.first));
    for (int64_t v = 0; v < kVectors; ++v) {
      const __m512i query = _mm512_add_epi32(lanes, _mm512_set1_epi32(static_cast<int>(v * kLanes)));
      _mm512_mask_store_ps(scores + (k * kVectors + v) * kLanes, _mm512_cmplt_epi32_mask(query, seen_from), never);
    }
  }
}

template <int kVectors>
void StoreResults(const AttentionHead& head, QueryRange range, const __m512 (&sums)[kVectors], const float* results) {
  for (int64_t v = 0; v < kVectors; ++v) {
    const __mmask16 is_zero = _mm512_cmp_ps_mask(sums[v], _mm512_setzero_ps(), _CMP_EQ_OQ);
    // 1 / 0 is infinity, and zeros times that are NaN.
    const __m512 divisor =
        head.unseen == AttentionHead::Unseen::kNan ? sums[v] : _mm512_mask_mov_ps(sums[v], is_zero, Number(1));
    const __m512 factor = _mm512_div_ps(Number(1), divisor);
    const int64_t rows = std::clamp<int64_t>(range.count - v * kLanes, 0, kLanes);
    float* const to = head.result + (range.first + v * kLanes) * head.result_stride;
    for (int64_t d = 0; d < head.value_width; d += kLanes) {
      const int64_t columns = std::min(kLanes, head.value_width - d);
      __m512 tile[16];
      for (int64_t i = 0; i < kLanes; ++i) {
        tile[i] = i < columns ? _mm512_mul_ps(_mm512_load_ps(results + ((d + i) * kVectors + v) * kLanes), factor)
                              : _mm512_setzero_ps();
      }
      Transpose16(tile);
      for (int64_t i = 0; i < rows; ++i) {
        _mm512_mask_storeu_ps(to + i * head.result_stride + d, LanesBelow(columns), tile[i]);
      }
    }
  }
}

template <int kVectors>
void Attend(const AttentionHead& head, QueryRange range, const AttentionScratchpad& scratch) {
  constexpr int64_t kRows = RowsFor(kVectors), kStep = kVectors * kLanes;
  static constexpr auto kScore = ScoreFunctions<kVectors>(std::make_index_sequence<kRows>());
  static constexpr auto kAdd = AddFunctions<kVectors>(std::make_index_sequence<kRows>());

  LoadQueries<kVectors>(head, range, scratch.queries);
  std::fill_n(scratch.results, head.value_width * kStep, 0.0F);
  __m512 largest[kVectors], sums[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    largest[v] = Number(-std::numeric_limits<double>::infinity());
    sums[v] = _mm512_setzero_ps();
  }
  alignas(64) float factors[kStep];
  const int64_t all_keys = head.causal ? std::min(head.keys, range.first + range.count) : head.keys;
  // Blocks of keys are alike, too.
  const int64_t blocks = (all_keys + kKeysOfBlock - 1) / kKeysOfBlock;
  const int64_t of_block = std::min(kKeysOfBlock, RoundUp((all_keys + blocks - 1) / blocks, kRows));
  for (int64_t first = 0; first < all_keys; first += of_block) {
    const int64_t keys = std::min(of_block, all_keys - first);
    if (head.kind == AttentionHead::Mask::kAdded) {
      LoadAddedMask<kVectors>(head, range, first, keys, scratch.scores);
    } else if (head.kind == AttentionHead::Mask::kKept) {
      LoadKeptMask<kVectors>(head, range, first, keys, scratch.scores);
    }
    for (int64_t k = 0; k < keys; k += kRows) {
      const auto rows = static_cast<size_t>(std::min(kRows, keys - k));
      kScore[rows - 1](scratch.queries, head.width, head.key + (first + k) * head.key_stride, head.key_stride,
                       head.scale, head.kind != AttentionHead::Mask::kNone, scratch.scores + k * kStep);
    }
    if (head.causal) HideLaterKeys<kVectors>(range, first, keys, scratch.scores);
    WeighScores<kVectors>(scratch.scores, keys, largest, sums, factors);
    for (int64_t d = 0; d < head.value_width; d += kRows) {
      const auto rows = static_cast<size_t>(std::min(kRows, head.value_width - d));
      kAdd[rows - 1](scratch.scores, keys, head.value + first * head.value_stride + d, head.value_stride, factors,
                     scratch.results + d * kStep);
    }
  }
  StoreResults<kVectors>(head, range, sums, scratch.results);
}

HEARTH_AVX512_END

}  // namespace

int64_t AttentionBlocks(int64_t queries) {
  return (queries + kMostQueryVectors * kLanes - 1) / (kMostQueryVectors * kLanes);
}

int64_t AttentionScratch(int64_t width, int64_t value_width) {
  return (width + value_width + kKeysOfBlock) * kMostQueryVectors * kLanes;
}

void AttendBlock(const AttentionHead& head, int64_t block, float* scratch) {
  const QueryRange range = QueriesOf(head.queries, block);
  const int64_t of_queries = head.width * kMostQueryVectors * kLanes;
  const int64_t of_results = head.value_width * kMostQueryVectors * kLanes;
  const AttentionScratchpad parts{
      .queries = scratch, .results = scratch + of_queries, .scores = scratch + of_queries + of_results};
  switch ((range.count + kLanes - 1) / kLanes) {
    case 1:
      return Attend<1>(head, range, parts);
    case 2:
      return Attend<2>(head, range, parts);
    case 3:
      return Attend<3>(head, range, parts);
    default:
      return Attend<4>(head, range, parts);
  }
}

}  // namespace hearth::kernels
