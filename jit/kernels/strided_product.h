// Products of float32 matrices of which nothing is known beforehand, whatever strides they have: a panel of the
// right-hand side is packed when its turn comes (product.h), or read where it lies if few rows are multiplied with it.
// Only where HasVectors(). Sums are in the order of the inner size, the bias after them.
#pragma once

#include <cstdint>

#include "jit/kernels/activation.h"
#include "jit/kernels/product.h"

namespace hearth::kernels {

// Element (i, j) is at i * row_stride + j * column_stride.
struct StridedMatrix {
  const float* data = nullptr;
  int64_t row_stride = 0, column_stride = 0;
};

struct StridedProduct {
  int64_t rows = 0, inner = 0, columns = 0;
  StridedMatrix left = {}, right = {};  // [rows, inner] and [inner, columns]
  // [rows, columns], a row's elements one after the other; nothing in common with the operands.
  float* result = nullptr;
  int64_t result_stride = 0;        // from row to row
  const float* row_bias = nullptr;  // [rows], or null
  Activation activation = Activation::kNone;
  float slope = 0;
};

// A part of the result. What it needs of the right-hand side is packed into memory of the calling thread.
void Multiply(const StridedProduct& product, const ProductPart& part);

// As many products of the same sizes and strides as a batch has, in parts of about the same work for so many threads.
class StridedProductParts {
 public:
  StridedProductParts(const StridedProduct& product, int64_t batch, int threads);
  int64_t count() const { return batch_ * parts_of_product_; }
  // About how long one takes.
  double nanoseconds() const { return nanoseconds_; }
  // Of which product part `i` is one, and which part of it.
  int64_t ProductOf(int64_t i) const { return i / parts_of_product_; }
  ProductPart operator[](int64_t i) const;

 private:
  int64_t batch_, all_rows_, all_panels_;
  int64_t row_parts_ = 1, parts_of_product_ = 1;
  double nanoseconds_ = 0;
};

}  // namespace hearth::kernels
