// Sizes in the memory that a plan's runs use one after the other (passes/plan_memory.h, interpreter/arena.h).
#pragma once

#include <cstddef>

namespace hearth {

// Results up to this size are tensors of the arena, ready made: to make a tensor takes about as long as the work on it.
// Larger ones are made by their operators, in the arena's memory.
inline constexpr size_t kMostBytesOfSlot = 64 * 1024;
// An arena of up to this size keeps its memory from run to run. A larger one has it from the allocator for each run:
// what lies idle then is the allocator's, to be used for any other tensor.
inline constexpr size_t kMostBytesKept = 1024 * 1024;
// A place of more than this, of sizes that no tensor can have, has no memory.
inline constexpr size_t kMostBytesOfPlace = size_t{1} << 46;
// Of where tensors begin.
inline constexpr size_t kArenaAlignment = 64;
// So many numbers of a run may say how large its tensors are.
inline constexpr size_t kMostArenaNumbers = 16;

constexpr size_t ArenaAligned(size_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

}  // namespace hearth
