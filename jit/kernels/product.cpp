#include "jit/kernels/product.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "jit/kernels/target.h"

namespace hearth::kernels {
namespace {

constexpr int64_t kMostRows = 14;
// Fewer take as long: each sum waits for the one before.
constexpr int64_t kLeastRows = 4;
// Of the left-hand side, what is kept in a processor's own cache while all panels pass by.
constexpr int64_t kBlockFloats = int64_t{1} << 16;
constexpr double kNanosecondsOfCycle = 0.4;
// Rows so far apart, or a multiple, lie in the same lines of the first cache.
constexpr int64_t kConflictingStride = 512;

// Of one vector or two; the last one has `mask` of its columns.
struct Tile {
  const float* left;
  int64_t left_stride;
  const float* panel;
  const float* bias;
  float* result;
  int64_t result_stride;
  int64_t inner;
  bool adds;
  uint16_t mask;
  // A line of memory that is fetched for each element of the inner size, this many bytes after the one before: of the
  // panel that comes next.
  const char* fetched;
  int64_t fetched_stride;
};

HEARTH_AVX512_BEGIN

// `kChains`: sums that are added up at the end, so that a few rows do not wait for each other's additions.
template <int kRows, int kVectors, int kChains>
void ComputeTile(const Tile& tile) {
  __m512 sums[kChains][kRows][kVectors];
#pragma GCC unroll 16
  for (int chain = 0; chain < kChains; ++chain) {
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
#pragma GCC unroll 16
      for (int i = 0; i < kVectors; ++i) sums[chain][row][i] = _mm512_setzero_ps();
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
      __m512 right[kVectors];
#pragma GCC unroll 16
      for (int i = 0; i < kVectors; ++i) right[i] = _mm512_loadu_ps(panel + i * kLanes);
#pragma GCC unroll 16
      for (int row = 0; row < kRows; ++row) {
        const __m512 element = _mm512_set1_ps(left[row * stride + chain]);
#pragma GCC unroll 16
        for (int i = 0; i < kVectors; ++i)
          sums[chain][row][i] = _mm512_fmadd_ps(element, right[i], sums[chain][row][i]);
      }
      panel += kVectors * kLanes;
    }
    left += kChains;
  }
  for (; k < tile.inner; ++k) {
    for (int i = 0; i < kVectors; ++i) {
      const __m512 right = _mm512_loadu_ps(panel + i * kLanes);
      for (int row = 0; row < kRows; ++row)
        sums[0][row][i] = _mm512_fmadd_ps(_mm512_set1_ps(left[row * stride]), right, sums[0][row][i]);
    }
    panel += kVectors * kLanes;
    ++left;
  }
#pragma GCC unroll 16
  for (int i = 0; i < kVectors; ++i) {
    const __mmask16 mask = i + 1 == kVectors ? tile.mask : 0xffff;
    const __m512 bias =
        tile.bias == nullptr ? _mm512_setzero_ps() : _mm512_maskz_loadu_ps(mask, tile.bias + i * kLanes);
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      __m512 sum = sums[0][row][i];
#pragma GCC unroll 16
      for (int chain = 1; chain < kChains; ++chain) sum = _mm512_add_ps(sum, sums[chain][row][i]);
      sum = _mm512_add_ps(sum, bias);
      float* const to = tile.result + row * tile.result_stride + i * kLanes;
      if (tile.adds) sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask, to));
      _mm512_mask_storeu_ps(to, mask, sum);
    }
  }
}

HEARTH_AVX512_END

using TileFunction = void (*)(const Tile&);

template <int kVectors, size_t... kIndex>
constexpr std::array<TileFunction, sizeof...(kIndex)> TileFunctions(std::index_sequence<kIndex...>) {
  return {ComputeTile < static_cast<int>(kIndex) + 1, kVectors, kIndex == 0 ? 4 : kIndex < 3 ? 2 : 1 > ...};
}

// By the number of vectors and of rows, each less 1.
constexpr std::array<std::array<TileFunction, kMostRows>, 2> kTiles = {
    TileFunctions<1>(std::make_index_sequence<kMostRows>()), TileFunctions<2>(std::make_index_sequence<kMostRows>())};

// Rows of the left-hand side one after the other, a bit apart.
class Rows {
 public:
  Rows(const Product& product, int64_t begin, int64_t end)
      : data_(product.left + begin * product.left_stride), stride_(product.left_stride) {
    if (stride_ % kConflictingStride != 0 || product.inner < kConflictingStride || end - begin < 4) return;
    thread_local std::vector<float> copies;
    stride_ = product.inner + kLanes;
    copies.resize(static_cast<size_t>((end - begin) * stride_));
    for (int64_t row = begin; row < end; ++row) {
      std::memcpy(copies.data() + (row - begin) * stride_, product.left + row * product.left_stride,
                  static_cast<size_t>(product.inner) * sizeof(float));
    }
    data_ = copies.data();
  }
  const float* data() const { return data_; }
  int64_t stride() const { return stride_; }

 private:
  const float* data_;
  int64_t stride_;
};

// Rows from `begin` up to `end` with one panel. Each tile fetches its part of the panel after it, if there is one, into
// the processor's own cache: a first tile that waited for memory would take twice as long on processors whose shared
// cache is slow. A single tile has no time for it.
void MultiplyPanel(const Product& product, const Rows& rows, int64_t begin, int64_t end, int64_t panel, bool last) {
  const int64_t column = panel * kPanelColumns, columns = std::min(product.columns - column, kPanelColumns);
  const int64_t vectors = (columns + kLanes - 1) / kLanes, rest = columns - (vectors - 1) * kLanes;
  Tile tile{.left = rows.data(),
            .left_stride = rows.stride(),
            .panel = product.packed + column * product.inner,
            .bias = product.bias == nullptr ? nullptr : product.bias + column,
            .result = product.result + begin * product.result_stride + column,
            .result_stride = product.result_stride,
            .inner = product.inner,
            .adds = product.adds,
            .mask = static_cast<uint16_t>((1u << rest) - 1),
            .fetched = reinterpret_cast<const char*>(product.packed + column * product.inner),
            .fetched_stride = 0};
  // Of about the same number of rows each.
  const int64_t count = end - begin, tiles = (count + kMostRows - 1) / kMostRows;
  if (!last && tiles > 1) {
    constexpr auto kRowBytes = static_cast<int64_t>(sizeof(float)) * kPanelColumns;
    tile.fetched += kRowBytes * product.inner;
    tile.fetched_stride = (kRowBytes + tiles - 1) / tiles;
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

}  // namespace

// The largest of so many parts.
int64_t PartSize(int64_t all, int64_t parts) { return (all + parts - 1) / parts; }

// About how long a part of the result takes for each element of the inner size: its products, of which a processor does
// two vectors a cycle, and what it reads of both operands, from a cache that it shares, a quarter of a vector a cycle.
int64_t PartCycles(int64_t rows, int64_t columns) {
  constexpr int64_t kProducts = 2 * kLanes, kNumbers = kLanes / 4;
  const int64_t tiles = PartSize(rows, kMostRows);
  return std::max(rows, tiles * kLeastRows) * columns / kProducts + (rows + columns) / kNumbers;
}

int64_t PackedSize(int64_t inner, int64_t columns) { return (columns + kLanes - 1) / kLanes * kLanes * inner; }

void PackMatrix(const float* matrix, int64_t inner_stride, int64_t column_stride, int64_t inner, int64_t columns,
                float* packed) {
  for (int64_t begin = 0; begin < columns; begin += kPanelColumns) {
    const int64_t width = std::min(columns - begin, kPanelColumns), padded = (width + kLanes - 1) / kLanes * kLanes;
    for (int64_t i = 0; i < inner; ++i) {
      const float* const from = matrix + i * inner_stride + begin * column_stride;
      for (int64_t j = 0; j < width; ++j) packed[j] = from[j * column_stride];
      std::fill(packed + width, packed + padded, 0.0f);
      packed += padded;
    }
  }
}

void Multiply(const Product& product, const ProductPart& part) {
  const int64_t all = part.row_end - part.row_begin;
  const int64_t most = std::max(kBlockFloats / std::max<int64_t>(product.inner, 1) / kMostRows, int64_t{1}) * kMostRows;
  const int64_t blocks = (all + most - 1) / most;
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t begin = part.row_begin + all * block / blocks, end = part.row_begin + all * (block + 1) / blocks;
    const Rows rows(product, begin, end);
    for (int64_t panel = part.panel_begin; panel < part.panel_end; ++panel)
      MultiplyPanel(product, rows, begin, end, panel, panel + 1 == part.panel_end);
  }
}

double NanosecondsOf(const Product& product) {
  const auto cycles = static_cast<double>(PartCycles(product.rows, product.columns));
  return kNanosecondsOfCycle * cycles * static_cast<double>(product.inner);
}

ProductParts::ProductParts(const Product& product, int threads)
    : all_rows_(product.rows), all_panels_(PanelsOf(product.columns)) {
  if (threads == 1 || all_rows_ == 0 || all_panels_ == 0) return;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int64_t rows = 1; rows <= std::min<int64_t>(threads, all_rows_); ++rows) {
    const int64_t panels = std::min(threads / rows, all_panels_);
    const int64_t height = PartSize(all_rows_, rows), width = PartSize(all_panels_, panels);
    const int64_t cycles = PartCycles(height, width * kPanelColumns);
    if (cycles >= least) continue;
    least = cycles;
    // No more of them than the largest takes.
    rows_ = PartSize(all_rows_, height);
    panels_ = PartSize(all_panels_, width);
  }
}

ProductPart ProductParts::operator[](int64_t i) const {
  const int64_t row = i / panels_, panel = i % panels_;
  return {all_rows_ * row / rows_, all_rows_ * (row + 1) / rows_, all_panels_ * panel / panels_,
          all_panels_ * (panel + 1) / panels_};
}

}  // namespace hearth::kernels
