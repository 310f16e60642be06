// Loops that are spread over the threads of a warp or a block, where constants say how long they are: a thread computes
// elements that are neighbours together, so that they are loaded and stored as one vector, and its chunks of these are
// written out, so that it loads many before it needs the first.
//
//   width 4, 32 threads    chunk 0                    chunk 1
//   elements               0-3    4-7   ..  124-127   128-131  132-135  ..
//   thread                 0      1         31        0        1
//
// Each element is the same thread's in all loops of one length: what one of them stores to a local buffer and another
// one loads need not leave the thread's registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

// The elements of loops of one length, and how they are spread.
struct RowElements {
  int64_t extent = 0;
  int width = 1;  // that a thread has together; a factor of the extent

  // How often so many threads go over them.
  int64_t Chunks(int64_t threads) const;
};

struct RowLoop {
  RowElements elements;
  // Loads of inputs, and stores that are the only access to their buffer in the loop, at the loop's index, along which
  // elements are neighbours. They are aligned where the buffers' memory is.
  std::set<const Instruction*> accesses;
  int calls = 0;  // of functions, for an element
};

// Of the same elements of an input, in several loops. The first one may leave them to the others, in registers.
struct RepeatedLoad {
  RowElements elements;
  std::vector<const Instruction*> loads;  // in order

  // What it takes of each of so many threads.
  int64_t Registers(int64_t threads) const;
};

struct RowPlan {
  // Loops right inside of the one at the top whose bodies are instructions and whose extents are constants.
  std::map<const Loop*, RowLoop> loops;
  // Local buffers of which such loops of one length access each thread's own elements alone.
  std::map<BufferId, RowElements> locals;
  // Whether the loop at the top uses no others.
  bool has_all_locals = true;
  std::vector<RepeatedLoad> repeated;

  // Of the buffers' memory, in bytes, that the vectors need.
  size_t Alignment() const;
  // How many elements of local buffers each of so many threads has.
  int64_t LocalElements(int64_t threads) const;
};

// Of a loop at the top whose rounds several threads compute.
RowPlan RowPlanOf(const Kernel& kernel, const Loop& loop_at_top);

}  // namespace hearth::fuser
