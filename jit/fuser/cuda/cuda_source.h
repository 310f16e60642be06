// Kernel → CUDA C++: the functions of kernel_image.h, in a source that includes nothing.
//
// A loop at the top becomes two functions that differ in the width of indices only. What computes a round of it
// (device_loops.h):
//   a thread          Inner loops are loops of the thread, or it computes several rounds together (thread_rounds.h).
//   a warp, a block   Its threads compute instructions alike, and share the rounds of inner loops (spread_rounds.h).
// Both are written in a LoopCode (loop_code.h): statements of one thread (thread_code.h), whose values and buffers are
// named and addressed in one way (value_names.h, buffers_in_cuda.h), and reductions (reductions_in_cuda.h).
#pragma once

#include <string>

#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

// Of a kernel from PrepareForCuda. Throws Unsupported, which names it, for a sequential loop right inside of a round
// that several threads compute, for more reductions in a round or more arguments than a GPU has memory for, and for
// operations that there is no code for.
std::string EmitCudaSource(const Kernel& prepared);

}  // namespace hearth::fuser
