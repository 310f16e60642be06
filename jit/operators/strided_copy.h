// Copies of floats from where they lie to where others want them, by all threads of the caller.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <span>

namespace hearth::native {

struct CopiedDimension {
  int64_t size, from_stride, to_stride;  // in floats
};

// Numbers of a tensor that become numbers of another one. Sizes are at least one, strides not negative.
struct CopiedBlock {
  const float* from;
  float* to;
  c10::SmallVector<CopiedDimension, 6> dimensions;
};

// Whether copies can be made here at all: the processor has vectors, and no mode of LibTorch's wants to see operators.
bool MayCopyFloats();

// No two blocks write to one place, and none reads what another one writes.
void CopyBlocks(std::span<const CopiedBlock> blocks);

// All of `from`, to a plain tensor of the same sizes.
void CopyFloats(const at::Tensor& from, at::Tensor& to);

// A plain number everywhere.
void FillFloats(at::Tensor& tensor, float number);

}  // namespace hearth::native
