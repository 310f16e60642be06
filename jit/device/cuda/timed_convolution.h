// How long a convolution takes, of a plan of cuDNN's and of LibTorch's operator.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/cuda/CUDAStream.h>
#include <cudnn.h>

#include <functional>

#include "jit/device/cuda/convolution_plan.h"

namespace hearth {

// One of zeros, on the thread's current stream, which it waits for. Times are milliseconds, of the fastest of a few
// runs. All throw c10::Error.
class TimedConvolution {
 public:
  TimedConvolution(const ConvolutionKey& key, c10::Device device, cudnnHandle_t handle);

  float Time(const ConvolutionPlan& plan) const;
  // Of LibTorch's operator, which has kernels of its own for some; nothing but a bias follows the convolution.
  float TimeOfLibTorch() const;

 private:
  c10::cuda::CUDAStream Stream() const { return c10::cuda::getCurrentCUDAStream(device_.index()); }
  float TimeOf(const std::function<void()>& work) const;

  const ConvolutionKey key_;
  const c10::Device device_;
  const cudnnHandle_t handle_;
  at::Tensor input_, weight_, bias_, addend_, result_;  // undefined: the convolution has none
};

}  // namespace hearth
