// Products of float32 matrices whose right-hand side is packed beforehand, with a bias, an addition and an activation
// in the same go, as in K. Goto and R. van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (ACM TOMS 34,
// 2008), whose packing of the left-hand side is left out but where its rows would push each other out of the cache.
// Only where HasVectors(). Sums are in the order of the inner size, whatever part of the result is computed at a time.
#pragma once

#include <cstdint>

#include "jit/kernels/activation.h"
#include "jit/kernels/division.h"

namespace hearth::kernels {

// Columns that are packed together, on this processor.
int64_t PanelColumns();
int64_t PanelsOf(int64_t columns);

// Floats that a packed matrix of [inner, columns] takes.
int64_t PackedSize(int64_t inner, int64_t columns);
// `matrix`: element (i, j) at i * inner_stride + j * column_stride. `packed`: PackedSize floats, of any alignment.
void PackMatrix(const float* matrix, int64_t inner_stride, int64_t column_stride, int64_t inner, int64_t columns,
                float* packed);

struct Product {
  int64_t rows = 0, inner = 0, columns = 0;
  const float* left = nullptr;  // [rows, inner], a row's elements one after the other
  int64_t left_stride = 0;      // from row to row
  const float* packed = nullptr;
  const float* bias = nullptr;  // [columns], or null
  float* result = nullptr;      // [rows, columns], likewise; nothing in common with the operands
  int64_t result_stride = 0;
  bool adds = false;  // what is in the result beforehand, before the activation
  Activation activation = Activation::kNone;
  float slope = 0;
};

// A part of the result: rows and panels of columns from `begin` up to `end`.
struct ProductPart {
  int64_t row_begin, row_end;
  int64_t panel_begin, panel_end;
};

void Multiply(const Product& product, const ProductPart& part);

// About how long the whole takes on one thread.
double NanosecondsOf(const Product& product);

// The whole, in parts of about the same work, `most` of them at most, and each of these in about so many pieces.
class ProductParts {
 public:
  ProductParts(const Product& product, int most, int pieces);
  // Of the pieces; those of a part come one after the other.
  int64_t count() const { return parts_.count() * pieces_.count(); }
  ProductPart operator[](int64_t i) const;

 private:
  int64_t all_rows_, all_panels_;
  Division parts_;
  Division pieces_;  // of each part
};

}  // namespace hearth::kernels
