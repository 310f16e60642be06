#include "jit/kernels/product.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "jit/kernels/panel.h"
#include "jit/kernels/target.h"

namespace hearth::kernels {
namespace {

// Rows of the left-hand side one after the other, a bit apart.
class Rows {
 public:
  Rows(const Product& product, int64_t begin, int64_t end)
      : data_(product.left + begin * product.left_stride), stride_(product.left_stride) {
    if (stride_ % kConflictingStride != 0 || product.inner < kConflictingStride || end - begin < 4) return;
    thread_local std::vector<float> copies;
    stride_ = product.inner + kLineFloats;
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
  const int64_t height = RowsOfTile(), all = part.row_end - part.row_begin, width = PanelColumns();
  const int64_t most = std::max(kBlockFloats / std::max<int64_t>(product.inner, 1) / height, int64_t{1}) * height;
  const int64_t blocks = DivideUp(all, most);
  const int64_t whole[] = {0};
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t begin = part.row_begin + all * block / blocks, end = part.row_begin + all * (block + 1) / blocks;
    const Rows rows(product, begin, end);
    for (int64_t panel = part.panel_begin; panel < part.panel_end; ++panel) {
      const int64_t column = panel * width;
      NextPanel next;
      if (panel + 1 < part.panel_end) {
        next = NextPanel(product.packed + (column + width) * product.inner, width * product.inner,
                         TilesOfRows(end - begin));
      }
      MultiplyPanel({.left = rows.data(),
                     .left_stride = rows.stride(),
                     .segments = whole,
                     .segment = product.inner,
                     .rows = end - begin,
                     .panel = product.packed + column * product.inner,
                     .columns = std::min(product.columns - column, width),
                     .bias = product.bias == nullptr ? nullptr : product.bias + column,
                     .result = product.result + begin * product.result_stride + column,
                     .result_stride = product.result_stride,
                     .adds = product.adds,
                     .activation = product.activation,
                     .slope = product.slope},
                    next);
    }
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
