// Batches of images that hearth's own kernels take as they lie.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "jit/operators/plain_tensor.h"

namespace hearth::native {

// Float32, the channels of a pixel one after the other, and the pixels.
struct ChannelsLastImages {
  const float* first;
  int64_t count, channels, height, width;
  int64_t pixels() const { return height * width; }
  int64_t size() const { return channels * pixels(); }  // of an image, in floats
};

// Whether a tensor is of float32 and has elements, lies in that format and suggests it, and no mode of LibTorch's wants
// to see operators and this processor has vectors.
inline bool IsPlainChannelsLast(const at::Tensor& tensor, at::MemoryFormat format) {
  return IsPlainFloat(tensor) && tensor.numel() > 0 && tensor.suggest_memory_format() == format &&
         tensor.is_contiguous(format) && KernelsMayStandIn();
}

// Nothing for tensors that IsPlainChannelsLast says no of.
inline std::optional<ChannelsLastImages> ChannelsLastImagesOf(const at::Tensor& tensor) {
  if (tensor.dim() != 4 || !IsPlainChannelsLast(tensor, at::MemoryFormat::ChannelsLast)) return {};
  const c10::IntArrayRef sizes = tensor.sizes();
  return ChannelsLastImages{tensor.const_data_ptr<float>(), sizes[0], sizes[1], sizes[2], sizes[3]};
}

inline at::Tensor NewChannelsLast(int64_t count, int64_t channels, int64_t height, int64_t width) {
  return NewFloats({count, channels, height, width}, at::MemoryFormat::ChannelsLast);
}

}  // namespace hearth::native
