// Kernel → CUDA C++: the functions of kernel_image.h, in a source that includes nothing.
//
// A loop at the top becomes two functions that differ in the width of indices only. What computes a round of it
// (device_loops.h):
//   a thread          Inner loops are loops of the thread. Where there are none, a thread computes several rounds
//                     together that load and store neighbours, if the memory is aligned; in 32 bits only.
//   a warp, a block   Instructions are computed by all of its threads alike, and stored by the first one. The rounds of
//                     parallel and reducing loops right inside are spread over the threads; what is inside of those are
//                     loops of the thread. Reductions are taken in an order that depends on the number of threads
//                     alone. Local buffers are in shared memory, each warp's in a part of its own; where one statement
//                     loads or stores what another one stores, the threads meet in between.
#pragma once

#include <string>

#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

// Of a kernel from PrepareForCuda. Throws Unsupported, which names it, for a sequential loop right inside of a round
// that several threads compute, for more reductions in a round or more arguments than a GPU has memory for, and for
// operations that there is no code for.
std::string EmitCudaSource(const Kernel& prepared);

}  // namespace hearth::fuser
