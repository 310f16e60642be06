#include "jit/kernels/panel.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>
#include <vector>

#include "jit/kernels/target.h"

namespace hearth::kernels {
namespace {

// Fewer take as long: each sum waits for the one before.
constexpr int64_t kLeastRows = 4;
// How far ahead of itself a tile fetches a panel that nobody has: what a processor reads while memory answers.
constexpr int64_t kBytesAhead = 8192;

// Of one vector or two.
struct Tile {
  const float* left;
  int64_t left_stride, left_step;
  std::span<const int64_t> segments;
  int64_t segment;
  const float* panel;
  int64_t panel_stride;
  const float* bias;
  const float* row_bias;
  float* result;
  int64_t result_stride;
  bool continues;
  bool adds;
  float least, most;  // of the result's numbers: smaller and larger ones become these
  int64_t last;       // columns of the last vector
  // A line of memory that is fetched for each element of the inner size, this many bytes after the one before.
  const char* fetched;
  int64_t fetched_stride;
};

}  // namespace

}  // namespace hearth::kernels

#define HEARTH_LOOPS "jit/kernels/panel_loops.h"
#include "jit/kernels/for_both_vectors.h"

namespace hearth::kernels {

NextPanel::NextPanel(const float* panel, int64_t floats, int64_t tiles) {
  if (tiles <= 1) return;
  at_ = reinterpret_cast<const char*>(panel);
  bytes_of_tile_ = DivideUp(DivideUp(floats * static_cast<int64_t>(sizeof(float)), tiles), kLineBytes) * kLineBytes;
}

LeftRows::LeftRows(const float* data, int64_t stride, int64_t rows, int64_t inner) : data_(data), stride_(stride) {
  if (stride % kConflictingStride != 0 || inner < kConflictingStride || rows < kLeastRows) return;
  thread_local std::vector<float> copies;
  const int64_t apart = inner + kLineFloats;
  copies.resize(static_cast<size_t>(rows * apart));
  for (int64_t i = 0; i < rows; ++i) std::copy_n(data + i * stride, inner, copies.data() + i * apart);
  data_ = copies.data();
  stride_ = apart;
}

const char* NextPanel::Take() {
  const char* const taken = at_;
  if (at_ != nullptr) at_ += bytes_of_tile_;
  return taken;
}

void MultiplyPanel(const PanelProduct& product, NextPanel& next) {
  const int64_t lanes = LanesHere(), vectors = DivideUp(product.columns, lanes);
  const int64_t inner = std::max<int64_t>(product.segment * static_cast<int64_t>(product.segments.size()), 1);
  const ActivationSteps steps = StepsOf(product.activation);
  Tile tile{.left = product.left,
            .left_stride = product.left_stride,
            .left_step = product.left_step,
            .segments = product.segments,
            .segment = product.segment,
            .panel = product.panel,
            .panel_stride = product.panel_stride,
            .bias = product.bias,
            .row_bias = product.row_bias,
            .result = product.result,
            .result_stride = product.result_stride,
            .continues = product.continues,
            .adds = product.adds,
            .least = steps.least,
            .most = steps.most,
            .last = product.columns - (vectors - 1) * lanes,
            .fetched = nullptr,
            .fetched_stride = 0};
  const auto vector = static_cast<size_t>(vectors - 1);
  const size_t is_dense = product.left_step == 1 && product.panel_stride == vectors * lanes ? 1 : 0;
  const auto* const functions =
      HasAvx512() ? avx512::kTiles[is_dense][vector].data() : avx2::kTiles[is_dense][vector].data();
  // Of about the same number of rows each.
  const int64_t tiles = TilesOfPanel(product.rows, product.columns);
  for (int64_t i = 0; i < tiles; ++i) {
    const int64_t height = product.rows * (i + 1) / tiles - product.rows * i / tiles;
    const auto* const panel = reinterpret_cast<const char*>(product.panel);
    if (i == 0 && product.is_first_read) {
      tile.fetched_stride = product.panel_stride * static_cast<int64_t>(sizeof(float));
      tile.fetched = panel + kBytesAhead / (vectors * kLineBytes) * tile.fetched_stride;
    } else if (const char* const fetched = next.Take()) {
      tile.fetched = fetched;
      tile.fetched_stride = DivideUp(next.bytes_of_tile(), inner);
    } else {
      tile.fetched = panel;
      tile.fetched_stride = 0;
    }
    functions[height - 1](tile);
    if (steps.later != Activation::kNone)
      Activate(steps.later, product.slope, tile.result, height, product.columns, product.result_stride);
    tile.left += height * product.left_stride;
    if (tile.row_bias != nullptr) tile.row_bias += height;
    tile.result += height * product.result_stride;
  }
}

int64_t RowsOfTile() { return HasAvx512() ? avx512::MostRows(2) : avx2::MostRows(2); }

int64_t TilesOfRows(int64_t rows) { return DivideUp(rows, RowsOfTile()); }

int64_t TilesOfPanel(int64_t rows, int64_t columns) {
  return DivideUp(rows, columns > LanesHere() ? RowsOfTile() : HasAvx512() ? avx512::kMostRows : avx2::kMostRows);
}

int64_t PartCycles(int64_t rows, int64_t columns) {
  constexpr int64_t kNumbers = 4;
  const int64_t products = 2 * LanesHere();
  return std::max(rows, TilesOfRows(rows) * kLeastRows) * columns / products + (rows + columns) / kNumbers;
}

Division PiecesOfPart(int64_t rows, int64_t panels, int most) {
  const int64_t of_panels = std::min<int64_t>(most, panels);
  return {std::min(DivideUp(most, of_panels), rows), of_panels};
}

Block PieceAt(int64_t i, int64_t rows, int64_t panels, const Division& parts, const Division& pieces) {
  const int64_t part = i / pieces.count(), piece = i % pieces.count();
  const auto inside = [](const Range& all, int64_t at, int64_t count) {
    const Range inner = PartOf(all.size(), at, count);
    return Range{all.begin + inner.begin, all.begin + inner.end};
  };
  return {inside(PartOf(rows, part / parts.panels, parts.rows), piece / pieces.panels, pieces.rows),
          inside(PartOf(panels, part % parts.panels, parts.panels), piece % pieces.panels, pieces.panels)};
}

}  // namespace hearth::kernels
