// The loops of attention.cpp, for whatever vectors the namespace around has: `Vector`, `kLanes`, `kSumRegisters` and
// what works on them (vector_avx512.h, vector_avx2.h). Included once for each, where code for these is compiled.

// Queries that are computed together, as vectors of them.
constexpr int64_t kMostQueryVectors = kSumRegisters / 6;

// Of keys or of a value's numbers, how many are multiplied with so many vectors at a time.
constexpr int RowsFor(int vectors) { return vectors == 1 ? 12 : kSumRegisters / vectors; }

struct AttentionScratchpad {
  float* queries;  // [width][vectors]
  float* results;  // [value_width][vectors]
  float* scores;   // [keys of a block][vectors]
};

// The queries of a block.
struct QueryRange {
  int64_t first, count;
};

int64_t BlocksOf(int64_t queries) { return (queries + kMostQueryVectors * kLanes - 1) / (kMostQueryVectors * kLanes); }

QueryRange QueriesOf(int64_t queries, int64_t block) {
  // Blocks are alike, but for one vector.
  const int64_t vectors = (queries + kLanes - 1) / kLanes, blocks = BlocksOf(queries);
  const int64_t first = block * vectors / blocks * kLanes, end = (block + 1) * vectors / blocks * kLanes;
  return {first, std::min(end, queries) - first};
}

// The transpose of as many rows and columns as there are, up to a vector's lanes; what there is not is zeros.
void LoadTransposed(const float* from, int64_t stride, int64_t rows, int64_t columns, Vector (&to)[kLanes]) {
  for (int64_t i = 0; i < kLanes; ++i) to[i] = i < rows ? LoadFirst(from + i * stride, columns) : Zeros();
  Transpose(to);
}

template <int kVectors>
void LoadQueries(const AttentionHead& head, QueryRange range, float* to) {
  for (int64_t v = 0; v < kVectors; ++v) {
    const int64_t rows = std::clamp<int64_t>(range.count - v * kLanes, 0, kLanes);
    const float* const from = head.query + (range.first + v * kLanes) * head.query_stride;
    for (int64_t d = 0; d < head.width; d += kLanes) {
      Vector tile[kLanes];
      LoadTransposed(from + d, head.query_stride, rows, head.width - d, tile);
      const int64_t columns = std::min(kLanes, head.width - d);
      for (int64_t i = 0; i < columns; ++i) Store(to + ((d + i) * kVectors + v) * kLanes, tile[i]);
    }
  }
}

// What is added to the scores of a block of keys.
template <int kVectors>
void LoadAddedMask(const AttentionHead& head, QueryRange range, int64_t first_key, int64_t keys, float* to) {
  const float* const from = static_cast<const float*>(head.mask) + first_key * head.mask_key_stride;
  if (head.mask_query_stride == 0) {
    for (int64_t k = 0; k < keys; ++k) {
      const Vector added = Broadcast(from[k * head.mask_key_stride]);
      for (int64_t v = 0; v < kVectors; ++v) Store(to + (k * kVectors + v) * kLanes, added);
    }
    return;
  }
  for (int64_t v = 0; v < kVectors; ++v) {
    const int64_t rows = std::clamp<int64_t>(range.count - v * kLanes, 0, kLanes);
    const float* const row = from + (range.first + v * kLanes) * head.mask_query_stride;
    if (head.mask_key_stride == 1) {
      for (int64_t k = 0; k < keys; k += kLanes) {
        Vector tile[kLanes];
        LoadTransposed(row + k, head.mask_query_stride, rows, keys - k, tile);
        const int64_t columns = std::min(kLanes, keys - k);
        for (int64_t i = 0; i < columns; ++i) Store(to + ((k + i) * kVectors + v) * kLanes, tile[i]);
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
  Vector sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) sums[row][v] = Zeros();
  }
  for (int64_t d = 0; d < width; ++d) {
    Vector query[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) query[v] = Load(queries + (d * kVectors + v) * kLanes);
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      const Vector number = Broadcast(key[row * stride + d]);
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sums[row][v] = MultiplyAdd(number, query[v], sums[row][v]);
    }
  }
  const Vector factor = Broadcast(scale);
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      float* const to = scores + (row * kVectors + v) * kLanes;
      const Vector before = adds ? Load(to) : Zeros();
      Store(to, MultiplyAdd(sums[row][v], factor, before));
    }
  }
}

// results = results * factors + the products of all weights with some numbers of each value.
template <int kVectors, int kRows>
void AddValues(const float* weights, int64_t keys, const float* value, int64_t stride, const float* factors,
               float* results) {
  Vector sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      const Vector before = Load(results + (row * kVectors + v) * kLanes);
      sums[row][v] = Multiply(before, Load(factors + v * kLanes));
    }
  }
  for (int64_t k = 0; k < keys; ++k) {
    Vector weight[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) weight[v] = Load(weights + (k * kVectors + v) * kLanes);
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      const Vector number = Broadcast(value[k * stride + row]);
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sums[row][v] = MultiplyAdd(number, weight[v], sums[row][v]);
    }
  }
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) Store(results + (row * kVectors + v) * kLanes, sums[row][v]);
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
void WeighScores(float* scores, int64_t keys, Vector (&largest)[kVectors], Vector (&sums)[kVectors], float* factors) {
  Vector most[kVectors], base[kVectors];
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) most[v] = largest[v];
  for (int64_t k = 0; k < keys; ++k) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      most[v] = Max(most[v], Load(scores + (k * kVectors + v) * kLanes));
    }
  }
  const Vector never = Broadcast(-std::numeric_limits<float>::infinity());
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) {
    base[v] = WhereEqual(most[v], never, Zeros(), most[v]);
    const Vector factor = Exp(Subtract(largest[v], base[v]));
    Store(factors + v * kLanes, factor);
    sums[v] = Multiply(sums[v], factor);
    largest[v] = most[v];
  }
  for (int64_t k = 0; k < keys; ++k) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      float* const at = scores + (k * kVectors + v) * kLanes;
      const Vector weight = Exp(Subtract(Load(at), base[v]));
      sums[v] = Add(sums[v], weight);
      Store(at, weight);
    }
  }
}

// What a query must not see, as it comes later.
template <int kVectors>
void HideLaterKeys(QueryRange range, int64_t first_key, int64_t keys, float* scores) {
  const Vector never = Broadcast(-std::numeric_limits<float>::infinity());
  for (int64_t k = std::max<int64_t>(range.first + 1 - first_key, 0); k < keys; ++k) {
    // The queries before it.
    const int64_t count = first_key + k - range.first;
    for (int64_t v = 0; v < kVectors && v * kLanes < count; ++v) {
      StoreFirst(scores + (k * kVectors + v) * kLanes, count - v * kLanes, never);
    }
  }
}

template <int kVectors>
void StoreResults(const AttentionHead& head, QueryRange range, const Vector (&sums)[kVectors], const float* results) {
  for (int64_t v = 0; v < kVectors; ++v) {
    // 1 / 0 is infinity, and zeros times that are NaN.
    const Vector divisor =
        head.unseen == AttentionHead::Unseen::kNan ? sums[v] : WhereEqual(sums[v], Zeros(), Broadcast(1), sums[v]);
    const Vector factor = Divide(Broadcast(1), divisor);
    const int64_t rows = std::clamp<int64_t>(range.count - v * kLanes, 0, kLanes);
    float* const to = head.result + (range.first + v * kLanes) * head.result_stride;
    for (int64_t d = 0; d < head.value_width; d += kLanes) {
      const int64_t columns = std::min(kLanes, head.value_width - d);
      Vector tile[kLanes];
      for (int64_t i = 0; i < kLanes; ++i) {
        tile[i] = i < columns ? Multiply(Load(results + ((d + i) * kVectors + v) * kLanes), factor) : Zeros();
      }
      Transpose(tile);
      for (int64_t i = 0; i < rows; ++i) {
        StoreFirst(to + i * head.result_stride + d, columns, tile[i]);
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
  Vector largest[kVectors], sums[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    largest[v] = Broadcast(-std::numeric_limits<float>::infinity());
    sums[v] = Zeros();
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

using AttendFunction = void (*)(const AttentionHead&, QueryRange, const AttentionScratchpad&);

// By how many vectors of queries, less one.
template <size_t... kIndex>
constexpr std::array<AttendFunction, sizeof...(kIndex)> AttendFunctions(std::index_sequence<kIndex...> /*vectors*/) {
  return {Attend<kIndex + 1>...};
}

void AttendBlock(const AttentionHead& head, int64_t block, float* scratch) {
  const QueryRange range = QueriesOf(head.queries, block);
  const int64_t of_queries = head.width * kMostQueryVectors * kLanes;
  const int64_t of_results = head.value_width * kMostQueryVectors * kLanes;
  const AttentionScratchpad parts{
      .queries = scratch, .results = scratch + of_queries, .scores = scratch + of_queries + of_results};
  static constexpr auto kAttend = AttendFunctions(std::make_index_sequence<kMostQueryVectors>());
  kAttend[static_cast<size_t>((range.count + kLanes - 1) / kLanes) - 1](head, range, parts);
}
