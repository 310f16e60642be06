// Pooling of images that lie channels-last, pixel by pixel, which LibTorch walks in strides or shares between threads
// of its own.
#include <ATen/core/Tensor.h>
#include <ATen/ops/avg_pool2d_ops.h>
#include <ATen/ops/max_pool2d_ops.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
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

// Along one side of the images.
struct PoolingSide {
  int64_t input, kernel, stride, padding, output;
  // The pixels of window `i` that are in the image.
  int64_t begin(int64_t i) const { return std::max<int64_t>(i * stride - padding, 0); }
  int64_t end(int64_t i) const { return std::min(i * stride - padding + kernel, input); }
  // How many there are with the padding.
  int64_t padded(int64_t i) const { return std::min(i * stride + kernel, input + 2 * padding) - i * stride; }
};

// For both sides, of a list of one number or two.
bool IsPair(const IValue& list) { return Elements(list).size() == 1 || Elements(list).size() == 2; }
std::array<int64_t, 2> PairOf(const IValue& list) {
  return {Get<int64_t>(Elements(list).front()), Get<int64_t>(Elements(list).back())};
}

struct Pooling {
  ChannelsLastImages images;
  PoolingSide height, width;
};

// How many windows there are along a side; where `rounds_up`, the last one may reach beyond the padding, if it does not
// begin there.
int64_t WindowsOf(int64_t input, int64_t kernel, int64_t stride, int64_t padding, bool rounds_up) {
  const int64_t left = input + 2 * padding - kernel;
  if (!rounds_up) return left / stride + 1;
  const int64_t windows = kernels::DivideUp(left, stride) + 1;
  return (windows - 1) * stride >= input + padding ? windows - 1 : windows;
}

std::optional<Pooling> PoolingOf(NativeArguments in, bool rounds_up) {
  const auto images = ChannelsLastImagesOf(in[0].toTensor());
  if (!images || !IsPair(in[1]) || !IsPair(in[3]) || !(Elements(in[2]).empty() || IsPair(in[2]))) return {};
  const auto kernel = PairOf(in[1]), padding = PairOf(in[3]);
  const auto stride = Elements(in[2]).empty() ? kernel : PairOf(in[2]);
  const auto side = [&](int64_t input, size_t i) -> std::optional<PoolingSide> {
    constexpr int64_t kMost = int64_t{1} << 30;
    // So that each window has pixels of the image.
    if (kernel[i] <= 0 || kernel[i] > kMost || stride[i] <= 0 || padding[i] < 0 || padding[i] > kernel[i] / 2)
      return {};
    if (input + 2 * padding[i] < kernel[i]) return {};
    return PoolingSide{input, kernel[i], stride[i], padding[i],
                       WindowsOf(input, kernel[i], stride[i], padding[i], rounds_up)};
  };
  const auto height = side(images->height, 0), width = side(images->width, 1);
  if (!height || !width) return {};
  return Pooling{*images, *height, *width};
}

// `combine`: makes a pixel of the result of those of a window, given its place.
template <typename Combine>
void PoolRow(const Pooling& pooling, int64_t image, int64_t y, const Combine& combine, float* to) {
  const auto& [images, height, width] = pooling;
  const float* const pixels = images.first + image * images.size();
  thread_local std::vector<const float*> window;
  for (int64_t x = 0; x < width.output; ++x, to += images.channels) {
    window.clear();
    for (int64_t i = height.begin(y); i < height.end(y); ++i) {
      for (int64_t j = width.begin(x); j < width.end(x); ++j)
        window.push_back(pixels + (i * images.width + j) * images.channels);
    }
    combine(window, y, x, to);
  }
}

template <typename Combine>
at::Tensor Pool(const Pooling& pooling, const Combine& combine) {
  const auto& [images, height, width] = pooling;
  at::Tensor result = NewChannelsLast(images.count, images.channels, height.output, width.output);
  float* const to = result.mutable_data_ptr<float>();
  const int64_t row_size = width.output * images.channels, rows = height.output;
  const double of_pixel =
      kNanosecondsOfPixel + kNanosecondsOfNumber * static_cast<double>(height.kernel * width.kernel * images.channels);
  ParallelFor(images.count * rows, of_pixel * static_cast<double>(width.output), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) PoolRow(pooling, row / rows, row % rows, combine, to + row * row_size);
  });
  return result;
}

// max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1,
//            bool ceil_mode=False) -> Tensor
void MaxPool(NativeArguments in, IValue* out) {
  const bool has_holes =
      std::ranges::any_of(Elements(in[4]), [](const IValue& dilation) { return Get<int64_t>(dilation) != 1; });
  const auto pooling = has_holes || Elements(in[4]).empty() ? std::nullopt : PoolingOf(in, Get<bool>(in[5]));
  if (!pooling) {
    EntryOf<at::_ops::max_pool2d>().function(in, out);
    return;
  }
  *out = Pool(*pooling, [&](std::span<const float* const> window, int64_t, int64_t, float* to) {
    kernels::LargestOfPixels(window, pooling->images.channels, to);
  });
}

// avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False,
//            bool count_include_pad=True, int? divisor_override=None) -> Tensor
void AveragePool(NativeArguments in, IValue* out) {
  const auto pooling = in[6].isNone() ? PoolingOf(in, Get<bool>(in[4])) : std::nullopt;
  if (!pooling) {
    EntryOf<at::_ops::avg_pool2d>().function(in, out);
    return;
  }
  const bool counts_padding = Get<bool>(in[5]);
  *out = Pool(*pooling, [&](std::span<const float* const> window, int64_t y, int64_t x, float* to) {
    const int64_t count =
        counts_padding ? pooling->height.padded(y) * pooling->width.padded(x) : static_cast<int64_t>(window.size());
    kernels::SumPixels(window, pooling->images.channels, static_cast<float>(count), to);
  });
}

constexpr NativeEntry kEntries[] = {
    {"aten::avg_pool2d", AveragePool},
    {"aten::max_pool2d", MaxPool},
};

}  // namespace

std::span<const NativeEntry> PoolingNatives() { return kEntries; }

}  // namespace hearth::native
