// The loops of panel.cpp, for whatever vectors the namespace around has (vector_avx512.h, vector_avx2.h). Included
// once for each, where code for these is compiled.

// Rows of a tile at most, by the panel's vectors: their sums, these vectors and one element of the left-hand side are
// in registers.
constexpr int MostRows(int vectors) {
  if (kSumRegisters < 24) return vectors == 1 ? 12 : 6;
  return 14;
}
constexpr int kMostRows = MostRows(1);

// `kChains`: sums that are added up at the end, so that a few rows do not wait for each other's additions. `kIsDense`:
// numbers of a row lie side by side, and those of the panel one vector after the other. Several of the inner size are
// then one turn of the loop, whose addresses are known but for where it begins: two threads of one processor share what
// decodes their instructions, and every one that does not multiply costs products. Where a product can read its number
// itself, those of each third row do, whose addresses are the simplest; were it all, reading would take longer than
// multiplying.
template <int kRows, int kVectors, int kChains, bool kIsDense>
void ComputeTile(const Tile& tile) {
  constexpr int kBases = (kRows + 2) / 3, kTogether = kIsDense ? 4 : kChains;
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
  const int64_t stride = tile.left_stride, step = kIsDense ? 1 : tile.left_step;
  const int64_t panel_stride = kIsDense ? kVectors * kLanes : tile.panel_stride;
  const bool fetches_each = tile.fetched_stride * kTogether > kLineBytes;
  for (const int64_t segment : tile.segments) {
    // An address has room for one base and one stride, so that of a row is found from the third part of all.
    const float* bases[kBases];
#pragma GCC unroll 16
    for (int i = 0; i < kBases; ++i) {
      bases[i] = tile.left + segment + 3 * i * stride;
      asm("" : "+r"(bases[i]));  // or the compiler keeps an offset for each row, more of them than there are registers
    }
    int64_t apart = stride;
    // So many of the inner size.
    const auto multiply = [&]<int kCount>(std::integral_constant<int, kCount>) __attribute__((always_inline)) {
#pragma GCC unroll 16
      for (int j = 0; j < kCount; ++j) {
        Vector right[kVectors];
#pragma GCC unroll 16
        for (int i = 0; i < kVectors; ++i) right[i] = LoadUnaligned(panel + j * panel_stride + i * kLanes);
#pragma GCC unroll 16
        for (int row = 0; row < kRows; ++row) {
          // Or offsets that several addresses share would each have a register of their own.
          if (row % 3 == 0) asm("" : "+r"(bases[row / 3]), "+r"(apart));
          const float* const number = bases[row / 3] + row % 3 * apart + j * step;
          if (kBroadcastsInProducts && (kVectors == 1 || row % 3 == 0)) {
#pragma GCC unroll 16
            for (int i = 0; i < kVectors; ++i) AddProduct(sums[j % kChains][row][i], number, right[i]);
            continue;
          }
          const Vector element = Broadcast(*number);
#pragma GCC unroll 16
          for (int i = 0; i < kVectors; ++i) AddProduct(sums[j % kChains][row][i], element, right[i]);
        }
      }
      panel += kCount * panel_stride;
#pragma GCC unroll 16
      for (int i = 0; i < kBases; ++i) {
        bases[i] += kCount * step;
        asm("" : "+r"(bases[i]));
      }
    };
    int64_t k = 0;
    for (; k + kTogether <= tile.segment; k += kTogether) {
      // A few rows read faster than they multiply.
      if constexpr (kChains == 1) _mm_prefetch(fetched, _MM_HINT_T1);
      if (kChains == 1 && fetches_each) {
#pragma GCC unroll 16
        for (int i = 1; i < kTogether; ++i) {
          fetched += tile.fetched_stride;
          _mm_prefetch(fetched, _MM_HINT_T1);
        }
        fetched += tile.fetched_stride;
      } else {
        fetched += kTogether * tile.fetched_stride;
      }
      multiply(std::integral_constant<int, kTogether>());
    }
    // What is left, without a loop: the compiler would move sums between registers for a second one.
    const int64_t rest = tile.segment - k;
    if (kTogether > 2 && (rest & 2) != 0) multiply(std::integral_constant<int, 2>());
    if (kTogether > 1 && (rest & 1) != 0) multiply(std::integral_constant<int, 1>());
  }
  const Vector least = Broadcast(tile.least), most = Broadcast(tile.most);
  // `kIsPlain`: all columns are whole vectors, and the rows have no bias.
  const auto finish = [&]<bool kIsPlain, bool kAdds>(std::bool_constant<kIsPlain>, std::bool_constant<kAdds>)
      __attribute__((always_inline)) {
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i) {
      const int64_t columns = kIsPlain || i + 1 < kVectors ? kLanes : tile.last;
      const Vector bias = tile.bias == nullptr ? Zeros() : LoadFirst(tile.bias + i * kLanes, columns);
      float* to = tile.result + i * kLanes;
#pragma GCC unroll 16
      for (int row = 0; row < kRows; ++row) {
        Vector sum = sums[0][row][i];
#pragma GCC unroll 16
        for (int chain = 1; chain < kChains; ++chain) sum = Add(sum, sums[chain][row][i]);
        sum = Add(sum, bias);
        if (!kIsPlain && tile.row_bias != nullptr) sum = Add(sum, Broadcast(tile.row_bias[row]));
        if (kAdds) sum = Add(sum, LoadFirst(to, columns));
        StoreFirst(to, columns, Min(most, Max(least, sum)));
        to += tile.result_stride;
      }
    }
  };
  constexpr std::true_type yes;
  constexpr std::false_type no;
  if (tile.row_bias != nullptr || tile.last < kLanes) {
    tile.adds ? finish(no, yes) : finish(no, no);
  } else {
    tile.adds ? finish(yes, yes) : finish(yes, no);
  }
}

using TileFunction = void (*)(const Tile&);

template <bool kIsDense, int kVectors, size_t... kIndex>
constexpr std::array<TileFunction, kMostRows> TileFunctions(std::index_sequence<kIndex...>) {
  return {ComputeTile < static_cast<int>(kIndex) + 1, kVectors, kIndex == 0 ? 4 : kIndex < 3 ? 2 : 1, kIsDense > ...};
}

template <bool kIsDense>
constexpr std::array<std::array<TileFunction, kMostRows>, 2> kTilesOf = {
    TileFunctions<kIsDense, 1>(std::make_index_sequence<MostRows(1)>()),
    TileFunctions<kIsDense, 2>(std::make_index_sequence<MostRows(2)>())};

// Of operands that are dense; by the number of vectors and of rows, each less 1.
constexpr std::array kTiles = {kTilesOf<false>, kTilesOf<true>};
