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

// Nothing for other tensors, for those of no elements, and where a mode of LibTorch's wants to see operators or this
// processor has no vectors.
inline std::optional<ChannelsLastImages> ChannelsLastImagesOf(const at::Tensor& tensor) {
  const bool suits = IsPlainFloat(tensor) && tensor.dim() == 4 && tensor.numel() > 0 &&
                     tensor.suggest_memory_format() == at::MemoryFormat::ChannelsLast &&
                     tensor.is_contiguous(at::MemoryFormat::ChannelsLast) && KernelsMayStandIn();
  if (!suits) return {};
  const c10::IntArrayRef sizes = tensor.sizes();
  return ChannelsLastImages{tensor.const_data_ptr<float>(), sizes[0], sizes[1], sizes[2], sizes[3]};
}

inline at::Tensor NewChannelsLast(int64_t count, int64_t channels, int64_t height, int64_t width) {
  return NewFloats({count, channels, height, width}, at::MemoryFormat::ChannelsLast);
}

}  // namespace hearth::native
