// A kernel's loops on a GPU.
#pragma once

#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "jit/device/gpu.h"
#include "jit/fuser/image/kernel_image.h"

namespace hearth::fuser {

// Immutable and thread-safe.
class GpuKernel {
 public:
  // Loads the image's device code. Throws c10::Error.
  GpuKernel(Gpu& gpu, const KernelImage& image);

  c10::Device device() const { return device_; }
  size_t num_loops() const { return loops_.size(); }
  // Asks the thread's current stream for all rounds of a loop; `buffers` and `symbols` as kernel_image.h says. Throws
  // c10::Error, where a block would need more memory than there is, too.
  void RunLoop(size_t loop, std::span<void* const> buffers, std::span<const int64_t> symbols, int64_t rounds,
               int64_t scratch_bytes, bool is_wide) const;

 private:
  const c10::Device device_;
  const std::vector<DeviceLoop> loops_;
  const uint32_t most_blocks_;
  const uint32_t most_shared_bytes_;
  const std::shared_ptr<const GpuCode> code_;
};

}  // namespace hearth::fuser
