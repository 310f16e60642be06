#include "jit/kernels/strided_product.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "jit/kernels/panel.h"
#include "jit/kernels/target.h"

namespace hearth::kernels {
namespace {

// Cycles that it takes to pack a number that lies beside the one before it, in another row, or elsewhere.
constexpr double kCyclesBeside = 0.15, kCyclesTransposed = 0.4, kCyclesElsewhere = 1.5;

double PackingCycles(const StridedMatrix& right) {
  return right.column_stride == 1 ? kCyclesBeside : right.row_stride == 1 ? kCyclesTransposed : kCyclesElsewhere;
}

// Whether a panel is read where it lies: few rows are multiplied with it, and all its vectors are whole.
bool IsReadInPlace(const StridedProduct& product, int64_t rows, int64_t columns) {
  constexpr int64_t kFewTiles = 2;
  return product.right.column_stride == 1 && columns % LanesHere() == 0 && TilesOfRows(rows) <= kFewTiles;
}

// Numbers of the right-hand side, as they are multiplied.
struct Panel {
  const float* numbers;
  int64_t stride;
};

Panel PanelOf(const StridedProduct& product, const Range& inner, int64_t column, int64_t columns, int64_t rows) {
  const StridedMatrix& right = product.right;
  const float* const from = right.data + inner.begin * right.row_stride + column * right.column_stride;
  if (IsReadInPlace(product, rows, columns)) return {from, right.row_stride};
  thread_local std::vector<float> packed;
  packed.resize(static_cast<size_t>(PackedSize(inner.size(), columns)));
  PackMatrix(from, right.row_stride, right.column_stride, inner.size(), columns, packed.data());
  return {packed.data(), PaddedColumns(columns)};
}

}  // namespace

void Multiply(const StridedProduct& product, const ProductPart& part) {
  const int64_t width = PanelColumns(), whole[] = {0};
  const int64_t inner_blocks = std::max<int64_t>(DivideUp(product.inner, kMostInner), 1);
  const int64_t rows = part.row_end - part.row_begin;
  for (int64_t block = 0; block < inner_blocks; ++block) {
    const Range inner = PartOf(product.inner, block, inner_blocks);
    const bool is_last = block + 1 == inner_blocks;
    const float* const first =
        product.left.data + part.row_begin * product.left.row_stride + inner.begin * product.left.column_stride;
    const bool is_by_rows = product.left.column_stride == 1;
    const LeftRows left(first, product.left.row_stride, is_by_rows ? rows : 0, inner.size());
    for (int64_t panel = part.panel_begin; panel < part.panel_end; ++panel) {
      const int64_t column = panel * width, columns = std::min(product.columns - column, width);
      const Panel right = PanelOf(product, inner, column, columns, rows);
      NextPanel next;
      MultiplyPanel({.left = left.data(),
                     .left_stride = left.stride(),
                     .left_step = product.left.column_stride,
                     .segments = whole,
                     .segment = inner.size(),
                     .rows = rows,
                     .panel = right.numbers,
                     .panel_stride = right.stride,
                     .columns = columns,
                     .row_bias = is_last && product.row_bias != nullptr ? product.row_bias + part.row_begin : nullptr,
                     .result = product.result + part.row_begin * product.result_stride + column,
                     .result_stride = product.result_stride,
                     .continues = block > 0,
                     .activation = is_last ? product.activation : Activation::kNone,
                     .slope = product.slope},
                    next);
    }
  }
}

StridedProductParts::StridedProductParts(const StridedProduct& product, int64_t batch, int threads)
    : batch_(batch), all_rows_(product.rows), all_panels_(PanelsOf(product.columns)) {
  if (batch == 0 || all_rows_ == 0 || all_panels_ == 0) {
    batch_ = 0;
    return;
  }
  const auto cost = [&](int64_t rows, int64_t panels) {
    const int64_t columns = std::min(panels * PanelColumns(), product.columns);
    return static_cast<double>(PartCycles(rows, columns)) +
           (IsReadInPlace(product, rows, columns) ? 0 : PackingCycles(product.right) * static_cast<double>(columns));
  };
  // So many turns of all threads at most.
  constexpr int64_t kMostTurns = 4;
  double least = std::numeric_limits<double>::infinity();
  Division best;
  for (int64_t turns = 1; turns <= kMostTurns; ++turns) {
    const auto most = static_cast<int>(std::max<int64_t>(turns * threads / batch, 1));
    const Division division = CheapestDivision(all_rows_, all_panels_, most, cost);
    const double one = cost(DivideUp(all_rows_, division.rows), DivideUp(all_panels_, division.panels));
    const double all = one * static_cast<double>(DivideUp(batch * division.rows * division.panels, threads));
    if (all >= least) continue;
    least = all;
    best = division;
    nanoseconds_ = one * kNanosecondsOfCycle * static_cast<double>(product.inner);
  }
  row_parts_ = best.rows;
  parts_of_product_ = best.rows * best.panels;
}

ProductPart StridedProductParts::operator[](int64_t i) const {
  const int64_t panel_parts = parts_of_product_ / row_parts_, part = i % parts_of_product_;
  const Range rows = PartOf(all_rows_, part / panel_parts, row_parts_),
              panels = PartOf(all_panels_, part % panel_parts, panel_parts);
  return {rows.begin, rows.end, panels.begin, panels.end};
}

}  // namespace hearth::kernels
