// softmax(scale * Q K^T + mask) V for one head, a block of queries at a time, as in "FlashAttention" (Dao et al.,
// 2022): keys pass by in blocks, and the largest score and the sum of each query are brought up to date after each of
// them, so that the scores stay in the processor's own cache.
//
// Vectors go over queries: those of a block are transposed first, and one number of a key or value at a time is
// multiplied with all of them. So keys and values are read as they lie, and what is said of all scores of a query, its
// maximum and its sum, needs no steps across a vector.
#pragma once

#include <cstdint>

namespace hearth::kernels {

struct AttentionHead {
  enum class Mask { kNone, kAdded, kKept };  // of floats that are added; of bools, false: minus infinity is added

  int64_t queries, keys;
  int64_t width;        // of a query and key, whose numbers lie one after the other
  int64_t value_width;  // likewise of a value
  const float *query, *key, *value;
  float* result;
  int64_t query_stride, key_stride, value_stride, result_stride;  // from one to the next
  float scale;
  Mask kind = Mask::kNone;
  const void* mask = nullptr;
  int64_t mask_query_stride = 0, mask_key_stride = 0;
  bool causal = false;  // query i sees the keys up to i
  // What a query gives that has no score but minus infinity.
  enum class Unseen : uint8_t { kZeros, kNan } unseen = Unseen::kZeros;
};

// How many blocks a head's queries are, each of them work for one call.
int64_t AttentionBlocks(int64_t queries);

// Floats that a call needs for itself.
int64_t AttentionScratch(int64_t width, int64_t value_width);

// A NaN among the scores of a query makes all of its result NaN. `scratch` is aligned to 64 bytes.
void AttendBlock(const AttentionHead& head, int64_t block, float* scratch);

}  // namespace hearth::kernels
