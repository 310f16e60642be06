// Kernel → CUDA C++: the functions of kernel_image.h, in a source that includes nothing.
//
// A loop at the top becomes two functions that differ in the width of indices only. Its rounds are mapped in one of two
// ways:
//   a thread a round   where the loop has no reductions and uses no local buffers. Inner loops are loops of the thread.
//                      Where there are none, a thread computes several rounds together that load and store neighbours
//                      (vector_plan.h), if the memory is aligned; in 32 bits only.
//   a block a round    else. Instructions are computed by all threads of the block alike, and stored by the first one.
//                      The rounds of parallel and reducing loops right inside are spread over the threads; what is
//                      inside of those are loops of the thread. Reductions are taken in an order that depends on the
//                      number of threads alone. Local buffers are in shared memory; where one statement loads or stores
//                      what another one stores, the threads meet in between.
#pragma once

#include <string>
#include <vector>

#include "jit/fuser/image/kernel_image.h"
#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

// How each loop at the top is to be launched.
std::vector<DeviceLoop> DeviceLoopsOf(const Kernel& prepared);

// Of a kernel from PrepareForCuda. Throws Unsupported, which names it, for a sequential loop right inside of a round
// that a block computes, for more reductions in a round or more arguments than a GPU has memory for, and for operations
// that there is no code for.
std::string EmitCudaSource(const Kernel& prepared);

}  // namespace hearth::fuser
