// What cuDNN does for one convolution of given sizes and what follows it: a graph of operations, for which the library
// names its engines, the best first by its own estimate.
#pragma once

#include <cudnn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace hearth {

// Sizes are [batch, channels, height, width], of a weight [outputs, channels / groups, height, width].
struct ConvolutionKey {
  std::array<int64_t, 4> input;
  std::array<int64_t, 4> weight;
  std::array<int64_t, 4> result{};
  std::array<int64_t, 2> stride, padding, dilation;
  int8_t dtype;  // c10::ScalarType: Half, BFloat16 or Float
  bool is_channels_last = false;
  bool has_bias;
  bool has_addend;  // as the result
  bool has_relu;
  bool rounds;  // float32 to TF32
  bool operator==(const ConvolutionKey&) const = default;
};
uint64_t HashOf(const ConvolutionKey& key);

// One that the library made ready. Any thread may run it, with a handle of its own. Whoever has it frees it.
struct ConvolutionPlan {
  cudnnBackendDescriptor_t plan = nullptr;  // null: the library has none
  size_t workspace_bytes = 0;
  bool is_best = false;  // of several that were tried
};
void Free(const ConvolutionPlan& plan);

// The first by the library's estimate. In float32 that is the best, since LibTorch takes it too: sums in another order,
// rounded to TF32, would be further from its answers. In half precision it is the first that need not be compiled, if
// there is one: takes milliseconds. Throws c10::Error.
ConvolutionPlan PlanConvolution(cudnnHandle_t handle, const ConvolutionKey& key);

// The fastest of several, which `time` tells of each, in any unit; those that have to be compiled take a few hundred
// milliseconds each. One that fails, of which `time` throws c10::Error, is none. Throws c10::Error.
ConvolutionPlan FindFastest(cudnnHandle_t handle, const ConvolutionKey& key,
                            const std::function<float(const ConvolutionPlan&)>& time);

// Addresses are those of the plan's operands; null for what it has not. Throws c10::Error.
struct ConvolutionOperands {
  const void* input;
  const void* weight;
  const void* bias;
  const void* addend;
  void* result;
  void* workspace;
};
void RunConvolution(cudnnHandle_t handle, const ConvolutionPlan& plan, const ConvolutionOperands& operands);

}  // namespace hearth
