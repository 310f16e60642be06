// What computes a round of a loop at the top on a GPU, and in which blocks:
//   a thread   where the loop has no reductions and uses no local buffers; several rounds that are neighbours, where
//              they can be loaded and stored together (vector_plan.h)
//   a warp     where the rows that a round goes over are short, or not very long and many; their sizes are constants
//   a block    else
#pragma once

#include <set>
#include <vector>

#include "jit/fuser/image/kernel_image.h"
#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

// How each loop at the top of a kernel from PrepareForCuda is to be launched.
std::vector<DeviceLoop> DeviceLoopsOf(const Kernel& prepared);

bool HasReduction(const Body& body);
// The local buffers that a loop uses.
std::set<BufferId> LocalsOf(const Kernel& kernel, const Loop& loop);

}  // namespace hearth::fuser
