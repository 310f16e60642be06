// The loops of product.cpp, for whatever vectors the namespace around has (vector_avx512.h, vector_avx2.h). Included
// once for each, where code for these is compiled.

constexpr int64_t kPanelColumns = 2 * kLanes;
// With their sums, two vectors of the panel and one element of the left-hand side in registers.
constexpr int kMostRows = kSumRegisters < 24 ? 6 : 14;

// `kChains`: sums that are added up at the end, so that a few rows do not wait for each other's additions.
template <int kRows, int kVectors, int kChains>
void ComputeTile(const ProductTile& tile) {
  Vector sums[kChains][kRows][kVectors];
#pragma GCC unroll 16
  for (int chain = 0; chain < kChains; ++chain) {
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 16
      for (int i = 0; i < kVectors; ++i) sums[chain][row][i] = Zeros();
    }
  }
  const float* panel = tile.panel;
  const float* left = tile.left;
  const int64_t stride = tile.left_stride;
  int64_t k = 0;
  for (; k + kChains <= tile.inner; k += kChains) {
    if (kChains == 1) _mm_prefetch(tile.fetched + k * tile.fetched_stride, _MM_HINT_T1);
#pragma GCC unroll 16
    for (int chain = 0; chain < kChains; ++chain) {
      Vector right[kVectors];
#pragma GCC unroll 16
      for (int i = 0; i < kVectors; ++i) right[i] = LoadUnaligned(panel + i * kLanes);
#pragma GCC unroll 16
      for (int row = 0; row < kRows; ++row) {
        const Vector element = Broadcast(left[row * stride + chain]);
#pragma GCC unroll 16
        for (int i = 0; i < kVectors; ++i) sums[chain][row][i] = MultiplyAdd(element, right[i], sums[chain][row][i]);
      }
      panel += kVectors * kLanes;
    }
    left += kChains;
  }
  for (; k < tile.inner; ++k) {
    for (int i = 0; i < kVectors; ++i) {
      const Vector right = LoadUnaligned(panel + i * kLanes);
      for (int row = 0; row < kRows; ++row)
        sums[0][row][i] = MultiplyAdd(Broadcast(left[row * stride]), right, sums[0][row][i]);
    }
    panel += kVectors * kLanes;
    ++left;
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
      float* const to = tile.result + row * tile.result_stride + i * kLanes;
      if (tile.adds) sum = Add(sum, LoadFirst(to, columns));
      StoreFirst(to, columns, sum);
    }
  }
}

using TileFunction = void (*)(const ProductTile&);

template <int kVectors, size_t... kIndex>
constexpr std::array<TileFunction, sizeof...(kIndex)> TileFunctions(std::index_sequence<kIndex...>) {
  return {ComputeTile < static_cast<int>(kIndex) + 1, kVectors, kIndex == 0 ? 4 : kIndex < 3 ? 2 : 1 > ...};
}

// By the number of vectors and of rows, each less 1.
constexpr std::array<std::array<TileFunction, kMostRows>, 2> kTiles = {
    TileFunctions<1>(std::make_index_sequence<kMostRows>()), TileFunctions<2>(std::make_index_sequence<kMostRows>())};

// Rows from `begin` up to `end` with one panel. Each tile fetches its part of the panel after it, if there is one, into
// the processor's own cache: a first tile that waited for memory would take twice as long on processors whose shared
// cache is slow. A single tile has no time for it.
void MultiplyPanel(const Product& product, const Rows& rows, int64_t begin, int64_t end, int64_t panel, bool last) {
  const int64_t column = panel * kPanelColumns, columns = std::min(product.columns - column, kPanelColumns);
  const int64_t vectors = DivideUp(columns, kLanes);
  ProductTile tile{.left = rows.data(),
                   .left_stride = rows.stride(),
                   .panel = product.packed + column * product.inner,
                   .bias = product.bias == nullptr ? nullptr : product.bias + column,
                   .result = product.result + begin * product.result_stride + column,
                   .result_stride = product.result_stride,
                   .inner = product.inner,
                   .adds = product.adds,
                   .last = columns - (vectors - 1) * kLanes,
                   .fetched = reinterpret_cast<const char*>(product.packed + column * product.inner),
                   .fetched_stride = 0};
  // Of about the same number of rows each.
  const int64_t count = end - begin, tiles = DivideUp(count, kMostRows);
  if (!last && tiles > 1) {
    constexpr auto kRowBytes = static_cast<int64_t>(sizeof(float)) * kPanelColumns;
    tile.fetched += kRowBytes * product.inner;
    tile.fetched_stride = DivideUp(kRowBytes, tiles);
  }
  for (int64_t i = 0; i < tiles; ++i) {
    const int64_t height = count * (i + 1) / tiles - count * i / tiles;
    kTiles[static_cast<size_t>(vectors - 1)][static_cast<size_t>(height - 1)](tile);
    if (product.activation != Activation::kNone)
      Activate(product.activation, product.slope, tile.result, height, columns, product.result_stride);
    tile.left += height * rows.stride();
    tile.result += height * product.result_stride;
    tile.fetched += tile.fetched_stride * product.inner;
  }
}
