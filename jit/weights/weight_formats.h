// In which format the weight of a linear layer lets it be computed fastest. That depends on the processor, on the
// layer's sizes and on how many rows it is given, so it is tried out for one thread: a product of those sizes, a few
// times in each format, on one thread by its own clock. What was tried is known from then on to the whole process, for
// numbers of rows with the same power of two above them. Thread-safe.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace hearth {

class DerivedConstants;

enum class WeightFormat : uint8_t {
  kAsItIs,
  kTransposed,  // the same numbers, with the elements of a column side by side
  // As a planned product wants it (libraries/product.h); where that is for one number of rows, never if it is unknown.
  kPacked,
};

// Of a weight of `columns` times `inner` floats that is plain and not transposed, for inputs of so many rows; unknown:
// of a few and of many. One that is clearly faster than the weight as it is, else that: a copy takes memory. Packed for
// hearth's own kernels it may also be about as fast for many rows.
//
// Where several `threads` share a product, nothing is tried out: it is packed if hearth's own kernels are for this
// processor, since they share work sooner than a library that has threads of its own (support/worker_threads.h), and is
// never turned, which one thread may gain by and several lose (benchmarks/weight_formats.py).
//
// For a weight of a size that is not tried yet it takes a thread up to half a second and 100 MB, a small one much less;
// `derived` rests in between, and what that throws ends it.
WeightFormat FastestWeightFormat(std::optional<int64_t> rows, int64_t inner, int64_t columns, int threads,
                                 const DerivedConstants& derived);

at::Tensor TransposedWeight(const at::Tensor& weight);

}  // namespace hearth
