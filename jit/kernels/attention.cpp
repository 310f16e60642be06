#include "jit/kernels/attention.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "jit/kernels/target.h"

namespace hearth::kernels {
namespace {

constexpr int64_t kKeysOfBlock = 128;

constexpr int64_t RoundUp(int64_t count, int64_t step) { return (count + step - 1) / step * step; }

}  // namespace

}  // namespace hearth::kernels

#define HEARTH_LOOPS "jit/kernels/attention_loops.h"
#include "jit/kernels/for_both_vectors.h"

namespace hearth::kernels {

int64_t AttentionBlocks(int64_t queries) { return HasAvx512() ? avx512::BlocksOf(queries) : avx2::BlocksOf(queries); }

int64_t AttentionScratch(int64_t width, int64_t value_width) {
  const int64_t queries =
      HasAvx512() ? avx512::kMostQueryVectors * avx512::kLanes : avx2::kMostQueryVectors * avx2::kLanes;
  return (width + value_width + kKeysOfBlock) * queries;
}

void AttendBlock(const AttentionHead& head, int64_t block, float* scratch) {
  if (HasAvx512()) {
    avx512::AttendBlock(head, block, scratch);
  } else {
    avx2::AttendBlock(head, block, scratch);
  }
}

}  // namespace hearth::kernels
