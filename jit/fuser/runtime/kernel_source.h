// Where the compiler gets the machine code of kernels.
#pragma once

#include <memory>
#include <string>

#include "jit/fuser/runtime/fused_kernel.h"

namespace hearth::fuser {

class KernelSource {
 public:
  virtual ~KernelSource() = default;
  // Of the kernel with that text (ir/printer.h); null if there is none. May take as long as it takes to make it.
  // Thread-safe.
  virtual std::shared_ptr<const KernelCode> Get(const std::string& text) = 0;
};

}  // namespace hearth::fuser
