#include "jit/kernels/product.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "jit/kernels/panel.h"
#include "jit/kernels/target.h"

namespace hearth::kernels {
namespace {

// Of the inner size, what is summed up before the rest: of rows and of a panel that are longer, too little would stay
// in a processor's own cache.
constexpr int64_t kMostInner = 1024;

// A part of the left-hand side: numbers of rows one after the other, a bit apart.
class Rows {
 public:
  Rows(const Product& product, int64_t begin, int64_t end, int64_t inner_begin, int64_t inner_end)
      : data_(product.left + begin * product.left_stride + inner_begin), stride_(product.left_stride) {
    const int64_t inner = inner_end - inner_begin;
    if (stride_ % kConflictingStride != 0 || inner < kConflictingStride || end - begin < 4) return;
    thread_local std::vector<float> copies;
    const float* const from = data_;
    copies.resize(static_cast<size_t>((end - begin) * (inner + kLineFloats)));
    for (int64_t row = 0; row < end - begin; ++row)
      std::copy_n(from + row * stride_, inner, copies.data() + row * (inner + kLineFloats));
    stride_ = inner + kLineFloats;
    data_ = copies.data();
  }
  const float* data() const { return data_; }
  int64_t stride() const { return stride_; }

 private:
  const float* data_;
  int64_t stride_;
};

// What a part of the inner size adds to a part of the result; all of it in one go, or the first one and the others
// after it. What is in the result beforehand is added last in the one case and first in the other.
void MultiplyBlock(const Product& product, const ProductPart& part, int64_t inner_begin, int64_t inner_end) {
  const int64_t width = PanelColumns(), whole[] = {0}, inner = inner_end - inner_begin;
  const bool is_first = inner_begin == 0, is_last = inner_end == product.inner;
  const Rows rows(product, part.row_begin, part.row_end, inner_begin, inner_end);
  const auto panel_at = [&](int64_t panel) {
    const int64_t columns = std::min(product.columns - panel * width, width);
    return product.packed + panel * width * product.inner + DivideUp(columns, LanesHere()) * LanesHere() * inner_begin;
  };
  for (int64_t panel = part.panel_begin; panel < part.panel_end; ++panel) {
    const int64_t column = panel * width;
    NextPanel next;
    if (panel + 1 < part.panel_end)
      next = NextPanel(panel_at(panel + 1), width * inner, TilesOfRows(part.row_end - part.row_begin));
    MultiplyPanel({.left = rows.data(),
                   .left_stride = rows.stride(),
                   .segments = whole,
                   .segment = inner,
                   .rows = part.row_end - part.row_begin,
                   .panel = panel_at(panel),
                   .columns = std::min(product.columns - column, width),
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

int64_t PackedSize(int64_t inner, int64_t columns) { return DivideUp(columns, LanesHere()) * LanesHere() * inner; }

void PackMatrix(const float* matrix, int64_t inner_stride, int64_t column_stride, int64_t inner, int64_t columns,
                float* packed) {
  const int64_t lanes = LanesHere(), panel = PanelColumns();
  for (int64_t begin = 0; begin < columns; begin += panel) {
    const int64_t width = std::min(columns - begin, panel), padded = DivideUp(width, lanes) * lanes;
    for (int64_t i = 0; i < inner; ++i) {
      const float* const from = matrix + i * inner_stride + begin * column_stride;
      for (int64_t j = 0; j < width; ++j) packed[j] = from[j * column_stride];
      std::fill(packed + width, packed + padded, 0.0f);
      packed += padded;
    }
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
    const int64_t begin = part.row_begin + all * i / row_blocks, end = part.row_begin + all * (i + 1) / row_blocks;
    for (int64_t j = 0; j < inner_blocks; ++j) {
      const int64_t inner_begin = product.inner * j / inner_blocks, inner_end = product.inner * (j + 1) / inner_blocks;
      MultiplyBlock(product, {begin, end, part.panel_begin, part.panel_end}, inner_begin, inner_end);
    }
  }
}

double NanosecondsOf(const Product& product) {
  const auto cycles = static_cast<double>(PartCycles(product.rows, product.columns));
  return kNanosecondsOfCycle * cycles * static_cast<double>(product.inner);
}

ProductParts::ProductParts(const Product& product, int most)
    : all_rows_(product.rows), all_panels_(PanelsOf(product.columns)) {
  if (most == 1 || all_rows_ == 0 || all_panels_ == 0) return;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int64_t rows = 1; rows <= std::min<int64_t>(most, all_rows_); ++rows) {
    const int64_t panels = std::min(most / rows, all_panels_);
    const int64_t height = DivideUp(all_rows_, rows), width = DivideUp(all_panels_, panels);
    const int64_t cycles = PartCycles(height, width * PanelColumns());
    if (cycles >= least) continue;
    least = cycles;
    // No more of them than the largest takes.
    rows_ = DivideUp(all_rows_, height);
    panels_ = DivideUp(all_panels_, width);
  }
}

ProductPart ProductParts::operator[](int64_t i) const {
  const int64_t row = i / panels_, panel = i % panels_;
  return {all_rows_ * row / rows_, all_rows_ * (row + 1) / rows_, all_panels_ * panel / panels_,
          all_panels_ * (panel + 1) / panels_};
}

}  // namespace hearth::kernels
