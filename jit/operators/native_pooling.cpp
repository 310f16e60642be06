// Pooling of images that lie channels-last, pixel by pixel, and means and sums of whole images or sequences: what
// LibTorch walks in strides, or shares between threads of its own.
#include <ATen/core/Tensor.h>
#include <ATen/ops/adaptive_avg_pool2d_ops.h>
#include <ATen/ops/avg_pool2d_ops.h>
#include <ATen/ops/max_pool2d_ops.h>
#include <ATen/ops/mean_ops.h>
#include <ATen/ops/sum_ops.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "jit/kernels/pixels.h"
#include "jit/operators/channels_last.h"
#include "jit/operators/native_support.h"
#include "jit/operators/native_thunk.h"
#include "jit/operators/pixel_parts.h"
#include "jit/operators/plain_tensor.h"
#include "jit/operators/strided_copy.h"
#include "jit/support/parallel_for.h"

namespace hearth::native {
namespace {

// About as long a number takes to be read, and a pixel of the result to be begun with.
constexpr double kNanosecondsOfNumber = 0.2;
constexpr double kNanosecondsOfPixel = 15;

// Of pixels, as they are summed one after the other; more are summed in parts, which other threads may do.
constexpr int64_t kPixelsOfPart = 32;

// Of few pixels, the channels that are summed in one go.
constexpr int64_t kChannelsOfPart = 1024;

// The sum of each batch of so few pixels that they are one part, divided by `divisor`.
void SumFewPixels(const PixelBatches& batches, float divisor, float* to) {
  const int64_t channels = batches.channels, parts = kernels::DivideUp(channels, kChannelsOfPart);
  const double of_part = kNanosecondsOfNumber * static_cast<double>(batches.pixels * channels / parts);
  ParallelFor(batches.count * parts, of_part, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t batch = i / parts, from = channels * (i % parts) / parts, next = channels * (i % parts + 1) / parts;
      kernels::SumPixels({batches.first + batch * batches.pixels * channels + from, batches.pixels, channels},
                         next - from, divisor, to + batch * channels + from);
    }
  });
}

// The sum of each batch, divided by `divisor`.
void SumBatches(const PixelBatches& batches, float divisor, float* to) {
  const int64_t parts = batches.parts(kPixelsOfPart), channels = batches.channels;
  if (parts == 1) return SumFewPixels(batches, divisor, to);
  std::vector<float> of_parts(static_cast<size_t>(batches.count * parts * channels));
  ForAllParts(batches, kPixelsOfPart, kNanosecondsOfNumber, [&](int64_t i, const kernels::PixelRow& pixels) {
    kernels::SumPixels(pixels, channels, 1, of_parts.data() + i * channels);
  });
  SumFewPixels({of_parts.data(), batches.count, parts, channels}, divisor, to);
}

bool IsOneByOne(const IValue& size) {
  const std::vector<IValue>& sizes = Elements(size);
  return sizes.size() == 2 && std::ranges::all_of(sizes, [](const IValue& each) { return each.toInt() == 1; });
}

// adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor
void AdaptiveAveragePool(NativeArguments in, IValue* out) {
  const auto images = ChannelsLastImagesOf(in[0].toTensor());
  if (!images || !IsOneByOne(in[1])) {
    EntryOf<at::_ops::adaptive_avg_pool2d>().function(in, out);
    return;
  }
  at::Tensor result = NewChannelsLast(images->count, images->channels, 1, 1);
  SumBatches(BatchesOf(*images), static_cast<float>(images->pixels()), result.mutable_data_ptr<float>());
  *out = std::move(result);
}

// A reduction whose dimensions lie, in memory, between those around them and those inside of them that are kept.
struct MiddleReduction {
  int64_t count = 1, pixels = 1, channels = 1;
  std::vector<int64_t> sizes;  // of the result
  // Of more than one element, in the result's order: where sums lie in the order of memory, and where in the result.
  c10::SmallVector<CopiedDimension, 6> kept;
  // Whether both are the same.
  bool in_order() const {
    return std::ranges::all_of(kept, [](const CopiedDimension& each) { return each.from_stride == each.to_stride; });
  }
};

std::optional<MiddleReduction> MiddleReductionOf(const at::Tensor& tensor, const IValue& dims, bool keeps) {
  constexpr int64_t kMostDimensions = 8;
  const int64_t rank = tensor.dim();
  if (!IsPlainFloat(tensor) || tensor.numel() == 0 || rank > kMostDimensions || dims.isNone() || !KernelsMayStandIn())
    return {};
  std::array<bool, kMostDimensions> is_reduced{};
  for (const IValue& each : Elements(dims)) {
    const int64_t dim = Get<int64_t>(each) + (Get<int64_t>(each) < 0 ? rank : 0);
    if (dim < 0 || dim >= rank || is_reduced[static_cast<size_t>(dim)]) return {};
    is_reduced[static_cast<size_t>(dim)] = true;
  }
  MiddleReduction found;
  std::array<int64_t, kMostDimensions> stride_of_sum{};
  int64_t stride = 1, sums = 1;
  const std::vector<size_t> nesting = NestingOf(tensor);
  for (auto i = nesting.rbegin(); i != nesting.rend(); ++i) {
    const int64_t size = tensor.sizes()[*i];
    if (tensor.strides()[*i] != stride) return {};
    stride *= size;
    if (is_reduced[*i]) {
      if (found.count != 1 || found.channels == 1) return {};
      found.pixels *= size;
      continue;
    }
    stride_of_sum[*i] = sums;
    sums *= size;
    (found.pixels == 1 ? found.channels : found.count) *= size;
  }
  if (found.pixels == 1) return {};
  int64_t left = sums;
  for (size_t i = 0; i < static_cast<size_t>(rank); ++i) {
    const int64_t size = tensor.sizes()[i];
    if (!is_reduced[i] || keeps) found.sizes.push_back(is_reduced[i] ? 1 : size);
    if (is_reduced[i] || size == 1) continue;
    left /= size;
    found.kept.push_back({size, stride_of_sum[i], left});
  }
  return found;
}

// OP.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
template <typename Operator, bool kIsMean>
void Reduce(NativeArguments in, IValue* out) {
  const at::Tensor& tensor = in[0].toTensor();
  const auto reduction = in[3].isNone() ? MiddleReductionOf(tensor, in[1], Get<bool>(in[2])) : std::nullopt;
  if (!reduction) {
    EntryOf<Operator>().function(in, out);
    return;
  }
  at::Tensor result = NewFloats(reduction->sizes, at::MemoryFormat::Contiguous);
  const PixelBatches batches{tensor.const_data_ptr<float>(), reduction->count, reduction->pixels, reduction->channels};
  const float divisor = kIsMean ? static_cast<float>(reduction->pixels) : 1;
  float* const to = result.mutable_data_ptr<float>();
  if (reduction->in_order()) {
    SumBatches(batches, divisor, to);
  } else {
    const std::unique_ptr<float[]> sums(new float[static_cast<size_t>(result.numel())]);
    SumBatches(batches, divisor, sums.get());
    const CopiedBlock block{sums.get(), to, reduction->kept};
    CopyBlocks({&block, 1});
  }
  *out = std::move(result);
}

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
    {"aten::adaptive_avg_pool2d", AdaptiveAveragePool},
    {"aten::avg_pool2d", AveragePool},
    {"aten::max_pool2d", MaxPool},
    {"aten::mean.dim", Reduce<at::_ops::mean_dim, true>},
    {"aten::sum.dim_IntList", Reduce<at::_ops::sum_dim_IntList, false>},
};

}  // namespace

std::span<const NativeEntry> PoolingNatives() { return kEntries; }

}  // namespace hearth::native
