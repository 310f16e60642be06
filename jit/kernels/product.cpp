#include "jit/kernels/product.h"

#include <algorithm>

#include "jit/kernels/panel.h"
#include "jit/kernels/target.h"
#include "jit/kernels/transposition.h"

namespace hearth::kernels {
namespace {

// What a part of the inner size adds to a part of the result; all of it in one go, or the first one and the others
// after it. What is in the result beforehand is added last in the one case and first in the other.
void MultiplyBlock(const Product& product, const ProductPart& part, const Range& inner) {
  const int64_t width = PanelColumns(), whole[] = {0};
  const bool is_first = inner.begin == 0, is_last = inner.end == product.inner;
  const LeftRows rows(product.left + part.row_begin * product.left_stride + inner.begin, product.left_stride,
                      part.row_end - part.row_begin, inner.size());
  // What a panel has for the inner numbers from `begin` on.
  const auto panel_at = [&](int64_t panel, int64_t begin) {
    const int64_t columns = std::min(product.columns - panel * width, width);
    return product.packed + panel * width * product.inner + PaddedColumns(columns) * begin;
  };
  for (int64_t panel = part.panel_begin; panel < part.panel_end; ++panel) {
    const int64_t column = panel * width, columns = std::min(product.columns - column, width);
    const int64_t tiles = TilesOfPanel(part.row_end - part.row_begin, columns);
    NextPanel next;
    if (panel + 1 < part.panel_end) {
      next = NextPanel(panel_at(panel + 1, inner.begin), width * inner.size(), tiles);
    } else if (!is_last) {
      next = NextPanel(panel_at(part.panel_begin, inner.end), width * inner.size(), tiles);
    }
    MultiplyPanel({.left = rows.data(),
                   .left_stride = rows.stride(),
                   .segments = whole,
                   .segment = inner.size(),
                   .rows = part.row_end - part.row_begin,
                   .panel = panel_at(panel, inner.begin),
                   .panel_stride = PaddedColumns(columns),
                   .is_first_read = (panel == part.panel_begin && is_first) || tiles == 1,
                   .columns = columns,
                   .bias = is_last && product.bias != nullptr ? product.bias + column : nullptr,
                   .result = product.result + part.row_begin * product.result_stride + column,
                   .result_stride = product.result_stride,
                   .continues = !is_first || (product.adds && !is_last),
                   .adds = product.adds && is_first && is_last,
                   .activation = is_last ? product.activation : Activation::kNone,
                   .slope = product.slope},
                  next);
  }
}

}  // namespace

int64_t PanelColumns() { return 2 * LanesHere(); }

int64_t PanelsOf(int64_t columns) { return DivideUp(columns, PanelColumns()); }

int64_t PackedSize(int64_t inner, int64_t columns) { return PaddedColumns(columns) * inner; }

void PackMatrix(const float* matrix, int64_t inner_stride, int64_t column_stride, int64_t inner, int64_t columns,
                float* packed) {
  const int64_t panel = PanelColumns();
  for (int64_t begin = 0; begin < columns; begin += panel) {
    const int64_t width = std::min(columns - begin, panel), padded = PaddedColumns(width);
    const float* const from = matrix + begin * column_stride;
    if (inner_stride == 1 && column_stride != 1) {
      CopyTransposed(from, column_stride, packed, padded, inner, width);
    } else {
      for (int64_t i = 0; i < inner; ++i) {
        float* const to = packed + i * padded;
        if (column_stride == 1) {
          std::copy_n(from + i * inner_stride, width, to);
        } else {
          for (int64_t j = 0; j < width; ++j) to[j] = from[i * inner_stride + j * column_stride];
        }
      }
    }
    if (width < padded) {
      for (int64_t i = 0; i < inner; ++i) std::fill(packed + i * padded + width, packed + (i + 1) * padded, 0.0f);
    }
    packed += inner * padded;
  }
}

void Multiply(const Product& product, const ProductPart& part) {
  const int64_t inner_blocks = std::max<int64_t>(DivideUp(product.inner, kMostInner), 1);
  const int64_t height = RowsOfTile(), all = part.row_end - part.row_begin;
  const int64_t most =
      std::max(kBlockFloats / DivideUp(std::max<int64_t>(product.inner, 1), inner_blocks) / height, int64_t{1}) *
      height;
  const int64_t row_blocks = DivideUp(all, most);
  for (int64_t i = 0; i < row_blocks; ++i) {
    const Range rows = PartOf(all, i, row_blocks);
    const ProductPart block = {part.row_begin + rows.begin, part.row_begin + rows.end, part.panel_begin,
                               part.panel_end};
    for (int64_t j = 0; j < inner_blocks; ++j) MultiplyBlock(product, block, PartOf(product.inner, j, inner_blocks));
  }
}

double NanosecondsOf(const Product& product) {
  const auto cycles = static_cast<double>(PartCycles(product.rows, product.columns));
  return kNanosecondsOfCycle * cycles * static_cast<double>(product.inner);
}

ProductParts::ProductParts(const Product& product, int most, int pieces)
    : all_rows_(product.rows), all_panels_(PanelsOf(product.columns)) {
  if (all_rows_ == 0 || all_panels_ == 0) return;
  // Rows have been written by other threads a moment ago and come out of their processors' caches, which takes longer
  // than panels out of a shared one, ahead of their use: so many cycles for each number, for each of the inner size.
  constexpr int64_t kCyclesOfOthers = 4;
  parts_ = CheapestDivision(all_rows_, all_panels_, most, [](int64_t rows, int64_t panels) {
    return static_cast<double>(PartCycles(rows, panels * PanelColumns()) + kCyclesOfOthers * rows);
  });
  pieces_ = PiecesOfPart(TilesOfRows(DivideUp(all_rows_, parts_.rows)), DivideUp(all_panels_, parts_.panels), pieces);
}

ProductPart ProductParts::operator[](int64_t i) const {
  const Block block = PieceAt(i, all_rows_, all_panels_, parts_, pieces_);
  return {block.rows.begin, block.rows.end, block.panels.begin, block.panels.end};
}

}  // namespace hearth::kernels
