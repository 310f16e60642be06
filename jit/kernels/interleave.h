// Rows whose elements are those of several other rows in turns, as a shuffle of channels has them. With AVX-512 where
// the processor has it.
#pragma once

#include <cstdint>
#include <span>

namespace hearth::kernels {

struct RowSource {
  const float* rows = nullptr;  // a row's elements one after the other
  int64_t stride = 0;           // from row to row
};

struct Interleaving {
  std::span<const RowSource> sources;  // at least one
  int64_t width = 0;                   // elements of a row of each
  float* result = nullptr;  // rows of sources.size() * width elements: element i of source s at i * sources.size() + s
  int64_t result_stride = 0;  // from row to row
};

// Rows from `begin` up to `end`. The result has nothing in common with the sources.
void Interleave(const Interleaving& interleaving, int64_t begin, int64_t end);

}  // namespace hearth::kernels
