// What products of matrices and convolutions are made of (product.h, convolution.h): rows of numbers with one panel of
// a packed matrix, in tiles of 14 rows by 32 columns of the result (with AVX2 of 6 by 16) that are summed in registers
// over the whole inner size. For this room alone. Only where HasVectors().
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "jit/kernels/activation.h"
#include "jit/kernels/division.h"
#include "jit/kernels/target.h"

namespace hearth::kernels {

// Rows so far apart, or a multiple, lie in the same lines of the first cache.
inline constexpr int64_t kConflictingStride = 512;
// Floats of a line of the cache.
inline constexpr int64_t kLineFloats = 16;
inline constexpr int64_t kLineBytes = kLineFloats * static_cast<int64_t>(sizeof(float));
// Of the left-hand side, what is kept in a processor's own cache while all panels pass by.
inline constexpr int64_t kBlockFloats = int64_t{1} << 16;
// Of the inner size, what is summed up before the rest: of rows and of a panel that are longer, too little would stay
// in a processor's own cache.
inline constexpr int64_t kMostInner = 1024;

// A panel that is to be in the processor's own cache when its turn comes. Each tile fetches a part of it: a first tile
// that waited for memory would take twice as long on processors whose shared cache is slow.
class NextPanel {
 public:
  NextPanel() = default;
  // `floats` from `panel` on, by so many tiles, of which a single one has no time for it.
  NextPanel(const float* panel, int64_t floats, int64_t tiles);
  // Where what one tile fetches begins; null for nothing.
  const char* Take();
  int64_t bytes_of_tile() const { return bytes_of_tile_; }

 private:
  const char* at_ = nullptr;
  int64_t bytes_of_tile_ = 0;
};

struct PanelProduct {
  // Number k of segment s of row i: left[segments[s] + i * left_stride + k * left_step], for k below `segment`.
  const float* left = nullptr;
  int64_t left_stride = 0;
  int64_t left_step = 1;
  std::span<const int64_t> segments;
  int64_t segment = 0;
  int64_t rows = 0;
  const float* panel = nullptr;     // the numbers that the first one of the first segment is multiplied with
  int64_t panel_stride = 0;         // from one of them to those of the next; whole vectors can be read from each
  bool is_first_read = false;       // nobody has fetched the panel: its first tile does, ahead of itself
  int64_t columns = 0;              // of the panel
  const float* bias = nullptr;      // of its columns, or null
  const float* row_bias = nullptr;  // of the rows, or null
  float* result = nullptr;          // [rows, columns]
  int64_t result_stride = 0;
  bool continues = false;  // the sums begin with what is in the result
  bool adds = false;       // what is in the result beforehand, before the activation
  Activation activation = Activation::kNone;
  float slope = 0;
};

void MultiplyPanel(const PanelProduct& product, NextPanel& next);

// A part of the left-hand side of a product: rows of numbers that lie one after the other. Where they would push each
// other out of the cache they are copied, a bit apart, into memory of the calling thread, which the next one may use.
class LeftRows {
 public:
  LeftRows(const float* data, int64_t stride, int64_t rows, int64_t inner);
  const float* data() const { return data_; }
  int64_t stride() const { return stride_; }

 private:
  const float* data_;
  int64_t stride_;
};

// The most rows of a tile of a whole panel, and the tiles that so many rows are; likewise of a panel of so many
// columns.
int64_t RowsOfTile();
int64_t TilesOfRows(int64_t rows);
int64_t TilesOfPanel(int64_t rows, int64_t columns);

// With those that fill up the last vector, as packed panels have them.
inline int64_t PaddedColumns(int64_t columns) { return DivideUp(columns, LanesHere()) * LanesHere(); }

// About how long a part of the result takes for each element of the inner size: its products, of which a processor does
// two vectors a cycle, and what it reads of both operands, from a cache that it shares, four numbers a cycle.
int64_t PartCycles(int64_t rows, int64_t columns);
inline constexpr double kNanosecondsOfCycle = 0.4;

struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};
// Part `i` of `count`.
inline Range PartOf(int64_t all, int64_t i, int64_t count) { return {all * i / count, all * (i + 1) / count}; }

// Into `most` parts at most, of which the largest costs least: `cost` of its rows and panels. No more parts of either
// than the largest leaves room for. There is at least one row and one panel.
template <typename Cost>
Division CheapestDivision(int64_t rows, int64_t panels, int most, const Cost& cost) {
  Division best;
  double least = std::numeric_limits<double>::infinity();
  for (int64_t i = 1; i <= std::min<int64_t>(most, rows); ++i) {
    const int64_t height = DivideUp(rows, i), breadth = DivideUp(panels, std::min(most / i, panels));
    const double now = cost(height, breadth);
    if (now >= least) continue;
    least = now;
    best = {DivideUp(rows, height), DivideUp(panels, breadth)};
  }
  return best;
}

// Of a part of so many rows or tiles of them, and panels, into about `most` pieces: first along the panels, as each of
// them reads the rows once more anyway.
Division PiecesOfPart(int64_t rows, int64_t panels, int most);

struct Block {
  Range rows, panels;
};
// Piece `i` of all: of the parts that `parts` divides rows and panels into, one after the other, the pieces that
// `pieces` divides each into.
Block PieceAt(int64_t i, int64_t rows, int64_t panels, const Division& parts, const Division& pieces);

}  // namespace hearth::kernels
