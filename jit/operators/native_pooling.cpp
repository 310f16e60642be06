// The mean of all pixels of images that lie channels-last: sums of a row of channels after another, which LibTorch's
// reduction walks in strides.
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/adaptive_avg_pool2d_ops.h>

#include <algorithm>

#include "jit/operators/native_support.h"
#include "jit/operators/native_thunk.h"
#include "jit/operators/plain_tensor.h"
#include "jit/support/parallel_for.h"

namespace hearth::native {
namespace {

// Channels that are summed together, in registers.
constexpr int64_t kTogether = 32;
// About as long one takes to be summed.
constexpr double kNanosecondsOfNumber = 0.2;

void MeanOfChannels(const float* pixels, int64_t count, int64_t channels, int64_t width, float* to) {
  float sums[kTogether] = {};
  if (width == kTogether) {
    for (int64_t pixel = 0; pixel < count; ++pixel) {
      const float* const row = pixels + pixel * channels;
      for (int64_t i = 0; i < kTogether; ++i) sums[i] += row[i];
    }
  } else {
    for (int64_t pixel = 0; pixel < count; ++pixel) {
      const float* const row = pixels + pixel * channels;
      for (int64_t i = 0; i < width; ++i) sums[i] += row[i];
    }
  }
  for (int64_t i = 0; i < width; ++i) to[i] = sums[i] / static_cast<float>(count);
}

bool IsOneByOne(const IValue& size) {
  const std::vector<IValue>& sizes = Elements(size);
  return sizes.size() == 2 && std::ranges::all_of(sizes, [](const IValue& each) { return each.toInt() == 1; });
}

// adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor
void AdaptiveAveragePool(NativeArguments in, IValue* out) {
  const at::Tensor& images = in[0].toTensor();
  const bool suits = IsPlainFloat(images) && images.dim() == 4 && images.numel() > 0 && IsOneByOne(in[1]) &&
                     images.suggest_memory_format() == at::MemoryFormat::ChannelsLast &&
                     images.is_contiguous(at::MemoryFormat::ChannelsLast) && NoModeSeesOperators();
  if (!suits) {
    EntryOf<at::_ops::adaptive_avg_pool2d>().function(in, out);
    return;
  }
  const int64_t count = images.sizes()[0], channels = images.sizes()[1], pixels = images.sizes()[2] * images.sizes()[3];
  at::Tensor result(at::detail::empty_cpu({count, channels, 1, 1}, at::kFloat, std::nullopt, std::nullopt, std::nullopt,
                                          at::MemoryFormat::ChannelsLast));
  const float* const from = images.const_data_ptr<float>();
  float* const to = result.mutable_data_ptr<float>();
  const int64_t parts = (channels + kTogether - 1) / kTogether;
  const auto work = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / parts, channel = i % parts * kTogether;
      MeanOfChannels(from + image * channels * pixels + channel, pixels, channels,
                     std::min(kTogether, channels - channel), to + image * channels + channel);
    }
  };
  ParallelFor(count * parts, kNanosecondsOfNumber * static_cast<double>(pixels * kTogether), work);
  *out = std::move(result);
}

constexpr NativeEntry kEntries[] = {{"aten::adaptive_avg_pool2d", AdaptiveAveragePool}};

}  // namespace

std::span<const NativeEntry> PoolingNatives() { return kEntries; }

}  // namespace hearth::native
