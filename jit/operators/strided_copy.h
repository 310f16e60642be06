// Copies of floats from where they lie to where others want them, by all threads of the caller.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "jit/operators/plain_tensor.h"

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

// About as long a number takes to be copied, and a run of them to be begun with.
inline constexpr double kNanosecondsOfCopiedNumber = 0.3;
inline constexpr double kNanosecondsOfCopiedRun = 5;
// Of a run; a longer one is copied in parts.
inline constexpr int64_t kMostCopiedNumbers = int64_t{1} << 14;

// Numbers that lie one after the other.
inline void CopyRun(const float* from, int64_t size, float* to) {
  constexpr int64_t kFew = 16;  // for which a call takes longer than they do
  if (size > kFew) {
    std::copy_n(from, size, to);
  } else {
    for (int64_t i = 0; i < size; ++i) to[i] = from[i];
  }
}

// For these KernelsMayStandIn. No two blocks write to one place, and none reads what another one writes.
void CopyBlocks(std::span<const CopiedBlock> blocks);

// All of `from`, to a plain tensor of the same sizes.
void CopyFloats(const at::Tensor& from, at::Tensor& to);

// Whether CopyFloats does what LibTorch's copy would.
inline bool MayCopy(const at::Tensor& tensor) {
  return IsPlainFloat(tensor) && tensor.numel() > 0 && KernelsMayStandIn();
}
// Of what MayCopy.
at::Tensor Copied(const at::Tensor& tensor, at::MemoryFormat format);

// A plain number everywhere.
void FillFloats(at::Tensor& tensor, float number);

}  // namespace hearth::native
