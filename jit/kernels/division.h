// Into how many parts the rows of a result and its panels of columns (product.h) are divided.
#pragma once

#include <cstdint>

namespace hearth::kernels {

struct Division {
  int64_t rows = 1, panels = 1;
  int64_t count() const { return rows * panels; }
};

}  // namespace hearth::kernels
