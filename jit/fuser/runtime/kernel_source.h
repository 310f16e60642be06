// Where the compiler gets the machine code of kernels. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "jit/fuser/runtime/fused_kernel.h"

namespace hearth::fuser {

class KernelSource {
 public:
  virtual ~KernelSource() = default;
  // Of the kernel with that text (ir/printer.h); null if it is not to be had. May take as long as it takes to make it;
  // meanwhile `rest` is called now and then, on this thread, and while it has not returned nothing is made. What it
  // throws ends the work, and the kernel may be asked for again.
  virtual std::shared_ptr<const KernelCode> Get(const std::string& text, const std::function<void()>& rest) = 0;
  // The same of one that was asked for before; nothing of any other.
  virtual std::optional<std::shared_ptr<const KernelCode>> Find(const std::string& text) const = 0;
};

}  // namespace hearth::fuser
