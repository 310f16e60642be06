// One function of a loop at the top, loop_<k> or loop_<k>_wide, while it is written: what those who write its parts
// have in common.
#pragma once

#include <string>

#include "jit/fuser/cuda/cuda_functions.h"
#include "jit/fuser/cuda/cuda_text.h"
#include "jit/fuser/cuda/value_names.h"
#include "jit/fuser/image/kernel_image.h"
#include "jit/fuser/ir/kernel.h"

namespace hearth::fuser {

// Owns nothing that it refers to.
struct LoopCode {
  const Kernel& kernel;  // from PrepareForCuda
  const Loop& loop;      // at its top
  const DeviceLoop& device_loop;
  const bool wide;  // loop_<k>_wide
  CudaFunctions* const functions;
  const ValueNames names{kernel, loop, wide};
  CudaText text{};

  // What computes a round (device_loops.h): a thread, a warp, else a block.
  bool IsOfThreads() const { return device_loop.threads_per_round == 1; }
  bool IsOfWarps() const {
    return device_loop.threads_per_round == kThreadsPerWarp && device_loop.threads > kThreadsPerWarp;
  }

  // Of rounds and of numbers of threads.
  std::string TypeOfRound() const { return wide ? "long long" : "unsigned"; }
  // Among those of a warp or block that compute a round together.
  std::string NumberOfThread() const { return IsOfWarps() ? "lane" : "threadIdx.x"; }

  // Begins the loop over every `step`th round from `first` on, and declares its index.
  void BeginRounds(const std::string& first, const std::string& step);
};

}  // namespace hearth::fuser
