// The loops of panel.cpp, for whatever vectors the namespace around has (vector_avx512.h, vector_avx2.h). Included
// once for each, where code for these is compiled.

// With their sums, two vectors of the panel and one element of the left-hand side in registers.
constexpr int kMostRows = kSumRegisters < 24 ? 6 : 14;

// `kChains`: sums that are added up at the end, so that a few rows do not wait for each other's additions.
template <int kRows, int kVectors, int kChains>
void ComputeTile(const Tile& tile) {
  constexpr int kBases = (kRows + 2) / 3;
  Vector sums[kChains][kRows][kVectors];
#pragma GCC unroll 16
  for (int chain = 0; chain < kChains; ++chain) {
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 16
      for (int i = 0; i < kVectors; ++i) sums[chain][row][i] = Zeros();
    }
  }
  if (tile.continues) {
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 16
      for (int i = 0; i < kVectors; ++i) {
        sums[0][row][i] =
            LoadFirst(tile.result + row * tile.result_stride + i * kLanes, i + 1 == kVectors ? tile.last : kLanes);
      }
    }
  }
  const float* panel = tile.panel;
  const char* fetched = tile.fetched;
  const int64_t stride = tile.left_stride, step = tile.left_step, panel_stride = tile.panel_stride;
  for (const int64_t segment : tile.segments) {
    // An address has room for one base and one stride, so that of a row is found from the third part of all.
    const float* bases[kBases];
#pragma GCC unroll 16
    for (int i = 0; i < kBases; ++i) {
      bases[i] = tile.left + segment + 3 * i * stride;
      asm("" : "+r"(bases[i]));  // or the compiler keeps an offset for each row, more of them than there are registers
    }
    int64_t k = 0;
    for (; k + kChains <= tile.segment; k += kChains) {
#pragma GCC unroll 16
      for (int chain = 0; chain < kChains; ++chain) {
        if (kChains == 1) {
          _mm_prefetch(fetched, _MM_HINT_T1);
          fetched += tile.fetched_stride;
        }
        Vector right[kVectors];
#pragma GCC unroll 16
        for (int i = 0; i < kVectors; ++i) right[i] = LoadUnaligned(panel + chain * panel_stride + i * kLanes);
#pragma GCC unroll 16
        for (int row = 0; row < kRows; ++row) {
          const Vector element = Broadcast(bases[row / 3][row % 3 * stride + chain * step]);
#pragma GCC unroll 16
          for (int i = 0; i < kVectors; ++i) {
            Vector& sum = sums[chain][row][i];
            sum = MultiplyAdd(element, right[i], sum);
          }
        }
      }
      panel += kChains * panel_stride;
#pragma GCC unroll 16
      for (int i = 0; i < kBases; ++i) {
        bases[i] += kChains * step;
        asm("" : "+r"(bases[i]));
      }
    }
    for (; k < tile.segment; ++k) {
#pragma GCC unroll 16
      for (int i = 0; i < kVectors; ++i) {
        const Vector right = LoadUnaligned(panel + i * kLanes);
#pragma GCC unroll 16
        for (int row = 0; row < kRows; ++row) {
          const Vector element = Broadcast(bases[row / 3][row % 3 * stride]);
          sums[0][row][i] = MultiplyAdd(element, right, sums[0][row][i]);
        }
      }
      panel += panel_stride;
#pragma GCC unroll 16
      for (int i = 0; i < kBases; ++i) bases[i] += step;
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kVectors; ++i) {
    const int64_t columns = i + 1 == kVectors ? tile.last : kLanes;
    const Vector bias = tile.bias == nullptr ? Zeros() : LoadFirst(tile.bias + i * kLanes, columns);
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      Vector sum = sums[0][row][i];
#pragma GCC unroll 16
      for (int chain = 1; chain < kChains; ++chain) sum = Add(sum, sums[chain][row][i]);
      sum = Add(sum, bias);
      if (tile.row_bias != nullptr) sum = Add(sum, Broadcast(tile.row_bias[row]));
      float* const to = tile.result + row * tile.result_stride + i * kLanes;
      if (tile.adds) sum = Add(sum, LoadFirst(to, columns));
      StoreFirst(to, columns, sum);
    }
  }
}

using TileFunction = void (*)(const Tile&);

template <int kVectors, size_t... kIndex>
constexpr std::array<TileFunction, sizeof...(kIndex)> TileFunctions(std::index_sequence<kIndex...>) {
  return {ComputeTile < static_cast<int>(kIndex) + 1, kVectors, kIndex == 0 ? 4 : kIndex < 3 ? 2 : 1 > ...};
}

// By the number of vectors and of rows, each less 1.
constexpr std::array<std::array<TileFunction, kMostRows>, 2> kTiles = {
    TileFunctions<1>(std::make_index_sequence<kMostRows>()), TileFunctions<2>(std::make_index_sequence<kMostRows>())};
