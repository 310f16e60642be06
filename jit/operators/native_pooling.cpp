// Pooling of images and volumes that lie channels-last, pixel by pixel, which LibTorch walks in strides or shares
// between threads of its own.
#include <ATen/core/Tensor.h>
#include <ATen/ops/avg_pool2d_ops.h>
#include <ATen/ops/max_pool2d_ops.h>
#include <ATen/ops/max_pool3d_ops.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "jit/kernels/pixels.h"
#include "jit/operators/channels_last.h"
#include "jit/operators/native_support.h"
#include "jit/operators/native_thunk.h"
#include "jit/support/parallel_for.h"

namespace hearth::native {
namespace {

// About as long a number takes to be read, and a pixel of the result to be begun with.
constexpr double kNanosecondsOfNumber = 0.2;
constexpr double kNanosecondsOfPixel = 15;

// Along one side of the images or volumes.
struct PoolingSide {
  int64_t input = 1, kernel = 1, stride = 1, padding = 0, output = 1;
  // The pixels of window `i` that are in the image.
  int64_t begin(int64_t i) const { return std::max<int64_t>(i * stride - padding, 0); }
  int64_t end(int64_t i) const { return std::min(i * stride - padding + kernel, input); }
  // How many there are with the padding.
  int64_t padded(int64_t i) const { return std::min(i * stride + kernel, input + 2 * padding) - i * stride; }
};

// Images are volumes with one slice.
struct Pooling {
  const float* first;
  int64_t count, channels;
  PoolingSide depth, height, width;
};

// How many windows there are along a side; where `rounds_up`, the last one may reach beyond the padding, if it does not
// begin there.
int64_t WindowsOf(int64_t input, int64_t kernel, int64_t stride, int64_t padding, bool rounds_up) {
  const int64_t left = input + 2 * padding - kernel;
  if (!rounds_up) return left / stride + 1;
  const int64_t windows = kernels::DivideUp(left, stride) + 1;
  return (windows - 1) * stride >= input + padding ? windows - 1 : windows;
}

// Of windows along the last sides of the input, whose sizes are given. Each list has one number for all, or one each.
template <size_t sides>
std::optional<std::array<PoolingSide, sides>> SidesOf(c10::IntArrayRef sizes, NativeArguments in, bool rounds_up) {
  const auto suits = [](const IValue& list) { return Elements(list).size() == 1 || Elements(list).size() == sides; };
  const IValue& strides = Elements(in[2]).empty() ? in[1] : in[2];
  if (!suits(in[1]) || !suits(strides) || !suits(in[3])) return {};
  std::array<PoolingSide, sides> all;
  for (size_t i = 0; i < sides; ++i) {
    const auto number = [i](const IValue& list) {
      return Get<int64_t>(Elements(list).size() == 1 ? Elements(list).front() : Elements(list)[i]);
    };
    const int64_t kernel = number(in[1]), stride = number(strides), padding = number(in[3]), input = sizes[i];
    constexpr int64_t kMost = int64_t{1} << 30;
    // So that each window has pixels of the image.
    if (kernel <= 0 || kernel > kMost || stride <= 0 || padding < 0 || padding > kernel / 2) return {};
    if (input + 2 * padding < kernel) return {};
    all[i] = {input, kernel, stride, padding, WindowsOf(input, kernel, stride, padding, rounds_up)};
  }
  return all;
}

std::optional<Pooling> PoolingOfImages(NativeArguments in, bool rounds_up) {
  const auto images = ChannelsLastImagesOf(in[0].toTensor());
  if (!images) return {};
  const auto sides = SidesOf<2>({images->height, images->width}, in, rounds_up);
  if (!sides) return {};
  return Pooling{images->first, images->count, images->channels, PoolingSide(), (*sides)[0], (*sides)[1]};
}

std::optional<Pooling> PoolingOfVolumes(NativeArguments in, bool rounds_up) {
  const at::Tensor& volumes = in[0].toTensor();
  if (volumes.dim() != 5 || !IsPlainChannelsLast(volumes, at::MemoryFormat::ChannelsLast3d)) return {};
  const auto sides = SidesOf<3>(volumes.sizes().slice(2), in, rounds_up);
  if (!sides) return {};
  return Pooling{
      volumes.const_data_ptr<float>(), volumes.size(0), volumes.size(1), (*sides)[0], (*sides)[1], (*sides)[2]};
}

// `combine`: makes a pixel of the result of those of a window, given its place in its slice.
template <typename Combine>
void PoolRow(const Pooling& pooling, int64_t volume, int64_t z, int64_t y, const Combine& combine, float* to) {
  const auto& [first, count, channels, depth, height, width] = pooling;
  const float* const pixels = first + volume * depth.input * height.input * width.input * channels;
  thread_local std::vector<const float*> window;
  for (int64_t x = 0; x < width.output; ++x, to += channels) {
    window.clear();
    for (int64_t slice = depth.begin(z); slice < depth.end(z); ++slice) {
      for (int64_t i = height.begin(y); i < height.end(y); ++i) {
        for (int64_t j = width.begin(x); j < width.end(x); ++j)
          window.push_back(pixels + ((slice * height.input + i) * width.input + j) * channels);
      }
    }
    combine(window, y, x, to);
  }
}

template <typename Combine>
void Pool(const Pooling& pooling, const Combine& combine, at::Tensor& result) {
  const auto& [first, count, channels, depth, height, width] = pooling;
  float* const to = result.mutable_data_ptr<float>();
  const int64_t row_size = width.output * channels, rows = height.output, slices = depth.output;
  const double of_pixel =
      kNanosecondsOfPixel +
      kNanosecondsOfNumber * static_cast<double>(depth.kernel * height.kernel * width.kernel * channels);
  const auto pool = [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      PoolRow(pooling, row / rows / slices, row / rows % slices, row % rows, combine, to + row * row_size);
    }
  };
  ParallelFor(count * slices * rows, of_pixel * static_cast<double>(width.output), pool);
}

at::Tensor NewImages(const Pooling& pooling) {
  return NewChannelsLast(pooling.count, pooling.channels, pooling.height.output, pooling.width.output);
}

void LargestOf(const Pooling& pooling, at::Tensor& result) {
  const auto largest = [&](std::span<const float* const> window, int64_t, int64_t, float* to) {
    kernels::LargestOfPixels(window, pooling.channels, to);
  };
  Pool(pooling, largest, result);
}

bool HasNoHoles(const IValue& dilations) {
  return !Elements(dilations).empty() &&
         std::ranges::all_of(Elements(dilations), [](const IValue& dilation) { return Get<int64_t>(dilation) == 1; });
}

// max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1,
//            bool ceil_mode=False) -> Tensor
void MaxPool(NativeArguments in, IValue* out) {
  const auto pooling = HasNoHoles(in[4]) ? PoolingOfImages(in, Get<bool>(in[5])) : std::nullopt;
  if (!pooling) {
    EntryOf<at::_ops::max_pool2d>().function(in, out);
    return;
  }
  at::Tensor result = NewImages(*pooling);
  LargestOf(*pooling, result);
  *out = std::move(result);
}

// max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1,
//            bool ceil_mode=False) -> Tensor
void MaxPoolOfVolumes(NativeArguments in, IValue* out) {
  const auto pooling = HasNoHoles(in[4]) ? PoolingOfVolumes(in, Get<bool>(in[5])) : std::nullopt;
  if (!pooling) {
    EntryOf<at::_ops::max_pool3d>().function(in, out);
    return;
  }
  at::Tensor result = NewFloats(
      {pooling->count, pooling->channels, pooling->depth.output, pooling->height.output, pooling->width.output},
      at::MemoryFormat::ChannelsLast3d);
  LargestOf(*pooling, result);
  *out = std::move(result);
}

// avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False,
//            bool count_include_pad=True, int? divisor_override=None) -> Tensor
void AveragePool(NativeArguments in, IValue* out) {
  const auto pooling = in[6].isNone() ? PoolingOfImages(in, Get<bool>(in[4])) : std::nullopt;
  if (!pooling) {
    EntryOf<at::_ops::avg_pool2d>().function(in, out);
    return;
  }
  const bool counts_padding = Get<bool>(in[5]);
  const auto average = [&](std::span<const float* const> window, int64_t y, int64_t x, float* to) {
    const int64_t count =
        counts_padding ? pooling->height.padded(y) * pooling->width.padded(x) : static_cast<int64_t>(window.size());
    kernels::SumPixels(window, pooling->channels, static_cast<float>(count), to);
  };
  at::Tensor result = NewImages(*pooling);
  Pool(*pooling, average, result);
  *out = std::move(result);
}

constexpr NativeEntry kEntries[] = {
    {"aten::avg_pool2d", AveragePool},
    {"aten::max_pool2d", MaxPool},
    {"aten::max_pool3d", MaxPoolOfVolumes},
};

}  // namespace

std::span<const NativeEntry> PoolingNatives() { return kEntries; }

}  // namespace hearth::native
