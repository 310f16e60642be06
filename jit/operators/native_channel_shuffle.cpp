// hearth::channel_shuffle: the channels of several batches of images, one batch after the other, in another order. They
// are `groups` of as many channels each, and become the first of all groups, the second of all groups and so on. What
// is given are `count` of these from `first` on, in new memory and in the format that concatenation gives the images.
// Raises where the operands are not what the plan was made for.
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "jit/kernels/interleave.h"
#include "jit/operators/native_support.h"
#include "jit/operators/native_thunk.h"
#include "jit/operators/plain_tensor.h"
#include "jit/support/parallel_for.h"

namespace hearth::native {
namespace {

// About as long one takes to be copied.
constexpr double kNanosecondsOfNumber = 0.3;

struct ShuffledChannels {
  int64_t groups, first, count;  // all multiples of `groups`
  int64_t of_group;              // channels of a group that are given
};

// From pixel to pixel, if a pixel's channels lie one after the other and the pixels all equally far apart.
std::optional<int64_t> PixelStride(const at::Tensor& images) {
  const at::IntArrayRef sizes = images.sizes(), strides = images.strides();
  if (sizes[1] > 1 && strides[1] != 1) return {};
  std::optional<int64_t> stride;
  int64_t pixels = 1;
  for (const size_t dimension : {3, 2, 0}) {
    if (sizes[dimension] == 1) continue;
    if (!stride) stride = strides[dimension];
    if (strides[dimension] != *stride * pixels) return {};
    pixels *= sizes[dimension];
  }
  return stride.value_or(sizes[1]);
}

at::MemoryFormat CommonFormat(const std::vector<at::Tensor>& parts) {
  const bool channels_last = std::ranges::all_of(
      parts, [](const at::Tensor& part) { return part.suggest_memory_format() == at::MemoryFormat::ChannelsLast; });
  return channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
}

void ShufflePixels(const std::vector<at::Tensor>& groups, const ShuffledChannels& shuffled, at::Tensor& result) {
  std::vector<at::Tensor> kept;
  std::vector<kernels::RowSource> sources;
  for (const at::Tensor& group : groups) {
    const std::optional<int64_t> stride = PixelStride(group);
    kept.push_back(stride ? group : group.contiguous(at::MemoryFormat::ChannelsLast));
    sources.push_back(
        {kept.back().const_data_ptr<float>() + shuffled.first / shuffled.groups, stride.value_or(group.size(1))});
  }
  const kernels::Interleaving work{sources, shuffled.of_group, result.mutable_data_ptr<float>(), shuffled.count};
  const int64_t pixels = result.size(0) * result.size(2) * result.size(3);
  ParallelFor(pixels, kNanosecondsOfNumber * static_cast<double>(shuffled.count),
              [&](int64_t begin, int64_t end) { kernels::Interleave(work, begin, end); });
}

void ShufflePlanes(const std::vector<at::Tensor>& groups, const ShuffledChannels& shuffled, at::Tensor& result) {
  const int64_t pixels = result.size(2) * result.size(3);
  std::vector<at::Tensor> planes;
  for (const at::Tensor& group : groups) planes.push_back(group.contiguous());
  float* const to = result.mutable_data_ptr<float>();
  const auto copy = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / shuffled.count, channel = shuffled.first + i % shuffled.count;
      const at::Tensor& group = planes[static_cast<size_t>(channel % shuffled.groups)];
      const float* const from =
          group.const_data_ptr<float>() + image * group.strides()[0] + channel / shuffled.groups * group.strides()[1];
      std::memcpy(to + i * pixels, from, static_cast<size_t>(pixels) * sizeof(float));
    }
  };
  ParallelFor(result.size(0) * shuffled.count, kNanosecondsOfNumber * static_cast<double>(pixels), copy);
}

// The groups, as views of what they are parts of where each lies in one of these.
std::vector<at::Tensor> GroupsOf(const std::vector<at::Tensor>& parts, int64_t groups, int64_t size) {
  std::vector<at::Tensor> found;
  for (const at::Tensor& part : parts) {
    if (part.size(1) % size != 0) return GroupsOf({at::cat(parts, 1)}, groups, size);
    for (int64_t channel = 0; channel < part.size(1); channel += size) {
      found.push_back(part.size(1) == size ? part : part.narrow(1, channel, size));
    }
  }
  return found;
}

// channel_shuffle(Tensor[] tensors, int groups, int first, int count) -> Tensor
void ChannelShuffle(NativeArguments in, IValue* out) {
  std::vector<at::Tensor> parts;
  int64_t channels = 0;
  for (const IValue& element : Elements(in[0])) {
    const at::Tensor& part = element.toTensor();
    const bool suits = IsPlainFloat(part) && part.dim() == 4 && part.numel() > 0 &&
                       (parts.empty() || (part.size(0) == parts[0].size(0) && part.size(2) == parts[0].size(2) &&
                                          part.size(3) == parts[0].size(3)));
    TORCH_CHECK(suits, "not images whose channels can be shuffled");
    channels += part.size(1);
    parts.push_back(part);
  }
  ShuffledChannels shuffled{Get<int64_t>(in[1]), Get<int64_t>(in[2]), Get<int64_t>(in[3]), 0};
  const int64_t groups = shuffled.groups;
  TORCH_CHECK(!parts.empty() && groups > 0 && channels % groups == 0 && shuffled.first >= 0 && shuffled.count > 0 &&
                  shuffled.count <= channels - shuffled.first && shuffled.first % groups == 0 &&
                  shuffled.count % groups == 0,
              "not a shuffle of these channels");
  shuffled.of_group = shuffled.count / groups;
  const at::MemoryFormat format = CommonFormat(parts);
  at::Tensor result = NewFloats({parts[0].size(0), shuffled.count, parts[0].size(2), parts[0].size(3)}, format);
  const std::vector<at::Tensor> found = GroupsOf(parts, groups, channels / groups);
  if (format == at::MemoryFormat::ChannelsLast) {
    ShufflePixels(found, shuffled, result);
  } else {
    ShufflePlanes(found, shuffled, result);
  }
  *out = std::move(result);
}

constexpr NativeEntry kEntries[] = {{"hearth::channel_shuffle", ChannelShuffle}};

}  // namespace

std::span<const NativeEntry> ChannelShuffleNatives() { return kEntries; }

}  // namespace hearth::native
