// What is small enough for the memory that a plan's runs use one after the other (passes/plan_memory.h,
// interpreter/arena.h). What is larger is better freed early, and malloc costs nothing beside the work on it.
#pragma once

#include <cstddef>

namespace hearth {

inline constexpr size_t kMostBytesOfSlot = 64 * 1024;
inline constexpr size_t kMostBytesOfArena = 1024 * 1024;
// Of where tensors begin.
inline constexpr size_t kArenaAlignment = 64;
// So many numbers of a run may say how large its tensors are.
inline constexpr size_t kMostArenaNumbers = 16;

constexpr size_t ArenaAligned(size_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

}  // namespace hearth
