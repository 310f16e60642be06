#include "jit/device/cuda/timed_convolution.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/convolution_ops.h>
#include <c10/core/Event.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

namespace hearth {

TimedConvolution::TimedConvolution(const ConvolutionKey& key, c10::Device device, cudnnHandle_t handle)
    : key_(key), device_(device), handle_(handle) {
  const auto dtype = static_cast<c10::ScalarType>(key.dtype);
  const auto format = key.is_channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
  const auto make = [&](c10::IntArrayRef sizes, at::MemoryFormat of = at::MemoryFormat::Contiguous) {
    return at::Tensor(at::detail::empty_generic(sizes, c10::cuda::CUDACachingAllocator::get(),
                                                c10::DispatchKeySet(c10::DispatchKey::CUDA), dtype, of));
  };
  input_ = make(key.input, format);
  weight_ = make(key.weight, format);
  result_ = make(key.result, format);
  if (key.has_bias) bias_ = make({key.weight[0]});
  if (key.has_addend) addend_ = make(key.result, format);
  for (const at::Tensor& tensor : {input_, weight_, bias_, addend_}) {
    if (tensor.defined()) {
      C10_CUDA_CHECK(cudaMemsetAsync(tensor.mutable_data_ptr(), 0, tensor.nbytes(), Stream().stream()));
    }
  }
}

float TimedConvolution::Time(const ConvolutionPlan& plan) const {
  const at::DataPtr workspace =
      plan.workspace_bytes > 0 ? c10::cuda::CUDACachingAllocator::get()->allocate(plan.workspace_bytes) : at::DataPtr();
  const ConvolutionOperands operands{.input = input_.const_data_ptr(),
                                     .weight = weight_.const_data_ptr(),
                                     .bias = bias_.defined() ? bias_.const_data_ptr() : nullptr,
                                     .addend = addend_.defined() ? addend_.const_data_ptr() : nullptr,
                                     .result = result_.mutable_data_ptr(),
                                     .workspace = workspace.get()};
  return TimeOf([&] { RunConvolution(handle_, plan, operands); });
}

float TimedConvolution::TimeOfLibTorch() const {
  const at::NoGradGuard no_gradients;
  const c10::SymInt groups = key_.input[1] / key_.weight[1];
  const std::array<c10::SymInt, 2> no_padding = {0, 0};
  const std::optional<at::Tensor> bias = bias_.defined() ? std::optional(bias_) : std::nullopt;
  return TimeOf([&] {
    at::_ops::convolution::call(input_, weight_, bias, c10::fromIntArrayRefSlow(key_.stride),
                                c10::fromIntArrayRefSlow(key_.padding), c10::fromIntArrayRefSlow(key_.dilation),
                                /*transposed=*/false, no_padding, groups);
  });
}

float TimedConvolution::TimeOf(const std::function<void()>& work) const {
  constexpr int kRuns = 4;
  c10::Event begin(device_.type(), c10::EventFlag::BACKEND_DEFAULT);
  c10::Event end(device_.type(), c10::EventFlag::BACKEND_DEFAULT);
  double least = std::numeric_limits<double>::infinity();
  for (int run = 0; run < kRuns; ++run) {
    begin.record(Stream());
    work();
    end.record(Stream());
    end.synchronize();
    // The first one loads the kernel.
    if (run > 0) least = std::min(least, begin.elapsedTime(end));
  }
  return static_cast<float>(least);
}

}  // namespace hearth
