// Where the compiler gets the machine code of kernels. Thread-safe.
#pragma once

#include <c10/core/DeviceType.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "jit/fuser/runtime/fused_kernel.h"

namespace hearth::fuser {

struct KernelCounters {
  uint64_t made = 0;
  uint64_t read = 0;                 // made by an earlier process
  uint64_t failed = 0;               // set aside for good, by an earlier process perhaps
  uint64_t waiting = 0;              // asked for, and not made yet
  uint64_t bytes = 0;                // of machine code
  std::chrono::nanoseconds time{0};  // that it took to make them
};

class KernelSource {
 public:
  virtual ~KernelSource() = default;
  // What the code is for.
  virtual c10::DeviceType device() const { return c10::kCPU; }
  // Of the kernel with that text (ir/printer.h); null if it is not to be had. May take as long as it takes to make it;
  // meanwhile `rest` is called now and then, on this thread, and while it has not returned nothing is made. What it
  // throws ends the work, and the kernel may be asked for again.
  virtual std::shared_ptr<const KernelCode> Get(const std::string& text, const std::function<void()>& rest) = 0;
  // The same without making any: null of one that is not to be had, nothing of one that is yet to be made.
  virtual std::optional<std::shared_ptr<const KernelCode>> Find(const std::string& text) = 0;
  // A kernel whose code gives wrong results, as `reason` says: nobody gets it any more, and calls of its code raise.
  virtual void SetAside(const std::string& text, const std::string& reason) {}
  // Whether a plan that was made without kernels because they could not be made then, and might be now, is worth making
  // again. Takes no lock.
  virtual bool MayRetry() const { return false; }
  virtual KernelCounters counters() const { return {}; }
};

}  // namespace hearth::fuser
