// Products of matrices by a GPU's own library (cuBLASLt), asked right away: LibTorch's operators ask the library in
// each call which of its kernels is best, and go through the dispatcher and views of their operands before.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

namespace hearth {

// Thread-safe. Lives as long as the process.
class GpuBlas {
 public:
  virtual ~GpuBlas() = default;

  // linear(input, weight, bias), and relu of it if asked for, on the thread's current stream: LibTorch's answer within
  // the rounding of its dtype. `bias` may be null. Undefined, and nothing was asked for, where this is not a product of
  // dense matrices in float16, bfloat16 or float32 that are on the thread's current GPU, or if gradients are to be
  // recorded. Which kernel is best for given sizes is found out in the first call with them. Throws c10::Error.
  virtual at::Tensor Linear(const at::Tensor& input, const at::Tensor& weight, const at::Tensor* bias,
                            bool has_relu = false) const = 0;
};

// Of a GPU that OpenGpu (gpu.h) gave; null for any other device. Takes no lock.
const GpuBlas* BlasOf(c10::Device device);

}  // namespace hearth
