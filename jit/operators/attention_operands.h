// Where scaled_dot_product_attention has its operands, and what LibTorch's kernels of it on a GPU can do at most.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::sdpa {

inline constexpr size_t kQuery = 0, kKey = 1, kValue = 2, kMask = 3, kDropout = 4, kCausal = 5, kScale = 6,
                        kRepeatsHeads = 7;

// Of batches, and of heads: a GPU starts no more blocks in a dimension of which each is for one of them.
inline constexpr int64_t kMostBlocks = (int64_t{1} << 16) - 1;

}  // namespace hearth::sdpa
