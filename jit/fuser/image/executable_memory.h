// The block of a kernel image as memory that can be run. The bytes are written first and made executable afterwards, so
// there is no time at which they are both. Immutable once constructed: any thread may call the functions, which end
// with the object.
//
// Throws std::system_error where the system gives no memory or forbids to execute it.
#pragma once

#include <cstddef>
#include <vector>

#include "jit/fuser/image/kernel_image.h"

namespace hearth::fuser {

class ExecutableMemory {
 public:
  explicit ExecutableMemory(const KernelImage& image);
  ~ExecutableMemory();
  ExecutableMemory(const ExecutableMemory&) = delete;
  ExecutableMemory& operator=(const ExecutableMemory&) = delete;

  SizesFunction sizes() const { return sizes_; }
  LoopFunction loop(size_t index) const { return loops_[index]; }
  size_t num_loops() const { return loops_.size(); }

 private:
  void* memory_ = nullptr;
  size_t bytes_ = 0;
  SizesFunction sizes_ = nullptr;
  std::vector<LoopFunction> loops_;
};

}  // namespace hearth::fuser
