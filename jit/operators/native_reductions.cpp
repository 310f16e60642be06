// Sums, means and norms along dimensions within which, in memory, others lie that are kept: of the pixels of images
// that lie channels-last, of the tokens of sequences. LibTorch walks these in strides, shares them between threads of
// its own or leaves them to one.
#include <ATen/core/Tensor.h>
#include <ATen/ops/adaptive_avg_pool2d_ops.h>
#include <ATen/ops/linalg_vector_norm_ops.h>
#include <ATen/ops/mean_ops.h>
#include <ATen/ops/norm_ops.h>
#include <ATen/ops/sum_ops.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <array>
#include <cmath>
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

// About as long a number takes to be read.
constexpr double kNanosecondsOfNumber = 0.2;

// Of pixels, as they are summed one after the other; more are summed in parts, which other threads may do.
constexpr int64_t kPixelsOfPart = 32;

// Of few pixels, the channels that are summed in one go.
constexpr int64_t kChannelsOfPart = 1024;

enum class Summed : uint8_t { kNumbers, kSquares };

void SumUp(Summed summed, const kernels::PixelRow& pixels, int64_t channels, float* sums) {
  if (summed == Summed::kSquares) return kernels::SumSquaresOfPixels(pixels, channels, sums);
  kernels::SumPixels(pixels, channels, sums);
}

// The sum of each batch of so few pixels that they are one part.
void SumFewPixels(Summed summed, const PixelBatches& batches, float* to) {
  const int64_t channels = batches.channels, parts = kernels::DivideUp(channels, kChannelsOfPart);
  const double of_part = kNanosecondsOfNumber * static_cast<double>(batches.pixels * channels / parts);
  ParallelFor(batches.count * parts, of_part, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t batch = i / parts, from = channels * (i % parts) / parts, next = channels * (i % parts + 1) / parts;
      kernels::PixelRow pixels = batches.Pixels(batch, 0, batches.pixels);
      pixels.first += from;
      SumUp(summed, pixels, next - from, to + batch * channels + from);
    }
  });
}

// The sum of each batch.
void SumBatches(Summed summed, const PixelBatches& batches, float* to) {
  const int64_t parts = batches.parts(kPixelsOfPart), channels = batches.channels;
  if (parts == 1) return SumFewPixels(summed, batches, to);
  const std::unique_ptr<float[]> of_parts(new float[static_cast<size_t>(batches.count * parts * channels)]);
  ForAllParts(batches, kPixelsOfPart, kNanosecondsOfNumber, [&](int64_t i, const kernels::PixelRow& pixels) {
    SumUp(summed, pixels, channels, of_parts.get() + i * channels);
  });
  SumFewPixels(Summed::kNumbers, PixelBatches::Dense(of_parts.get(), batches.count, parts, channels), to);
}

bool IsOneByOne(const IValue& size) {
  const std::vector<IValue>& sizes = Elements(size);
  return sizes.size() == 2 && std::ranges::all_of(sizes, [](const IValue& each) { return each.toInt() == 1; });
}

void DivideAll(std::span<float> numbers, int64_t by) {
  for (float& number : numbers) number /= static_cast<float>(by);
}

// adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor
void AdaptiveAveragePool(NativeArguments in, IValue* out) {
  const auto images = ChannelsLastImagesOf(in[0].toTensor());
  if (!images || !IsOneByOne(in[1])) {
    EntryOf<at::_ops::adaptive_avg_pool2d>().function(in, out);
    return;
  }
  at::Tensor result = NewChannelsLast(images->count, images->channels, 1, 1);
  float* const to = result.mutable_data_ptr<float>();
  SumBatches(Summed::kNumbers, BatchesOf(*images), to);
  DivideAll({to, static_cast<size_t>(images->count * images->channels)}, images->pixels());
  *out = std::move(result);
}

// What is reduced: "pixels", which lie, in memory, between the batches around them and the channels inside of them.
struct MiddleReduction {
  PixelBatches batches;
  std::vector<int64_t> sizes;  // of the result
  // Of more than one element, in the result's order: where sums lie in the order of memory, and where in the result.
  c10::SmallVector<CopiedDimension, 6> kept;
  // Whether both are the same.
  bool in_order() const {
    return std::ranges::all_of(kept, [](const CopiedDimension& each) { return each.from_stride == each.to_stride; });
  }
};

// Dimensions that are nested one in the other, as one.
struct NestedDimensions {
  int64_t size = 1, stride = 0;
  // The next one around them. False if it does not continue them.
  bool Widen(int64_t by, int64_t its_stride) {
    if (size != 1 && its_stride != size * stride) return false;
    if (size == 1) stride = its_stride;
    size *= by;
    return true;
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
  NestedDimensions batches, pixels, channels;
  std::array<int64_t, kMostDimensions> stride_of_sum{};
  int64_t sums = 1;
  const std::vector<size_t> nesting = NestingOf(tensor);
  for (auto i = nesting.rbegin(); i != nesting.rend(); ++i) {
    const int64_t size = tensor.sizes()[*i], stride = tensor.strides()[*i];
    if (is_reduced[*i]) {
      if (batches.size != 1 || channels.size == 1 || !pixels.Widen(size, stride)) return {};
      continue;
    }
    if (!(pixels.size == 1 ? channels : batches).Widen(size, stride)) return {};
    stride_of_sum[*i] = sums;
    sums *= size;
  }
  if (pixels.size == 1 || channels.stride != 1) return {};
  MiddleReduction found{
      {tensor.const_data_ptr<float>(), batches.size, pixels.size, channels.size, batches.stride, pixels.stride},
      {},
      {}};
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

// `finish`: makes of the sums the numbers that are asked for.
template <typename Finish>
at::Tensor Reduce(Summed summed, const MiddleReduction& reduction, const Finish& finish) {
  at::Tensor result = NewFloats(reduction.sizes, at::MemoryFormat::Contiguous);
  float* const to = result.mutable_data_ptr<float>();
  const auto count = static_cast<size_t>(result.numel());
  if (reduction.in_order()) {
    SumBatches(summed, reduction.batches, to);
    finish(std::span(to, count));
    return result;
  }
  const std::unique_ptr<float[]> sums(new float[count]);
  SumBatches(summed, reduction.batches, sums.get());
  finish(std::span(sums.get(), count));
  const CopiedBlock block{sums.get(), to, reduction.kept};
  CopyBlocks({&block, 1});
  return result;
}

// sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
void Sum(NativeArguments in, IValue* out) {
  const auto reduction = in[3].isNone() ? MiddleReductionOf(in[0].toTensor(), in[1], Get<bool>(in[2])) : std::nullopt;
  if (!reduction) {
    EntryOf<at::_ops::sum_dim_IntList>().function(in, out);
    return;
  }
  *out = Reduce(Summed::kNumbers, *reduction, [](std::span<float>) {});
}

// mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
void Mean(NativeArguments in, IValue* out) {
  const auto reduction = in[3].isNone() ? MiddleReductionOf(in[0].toTensor(), in[1], Get<bool>(in[2])) : std::nullopt;
  if (!reduction) {
    EntryOf<at::_ops::mean_dim>().function(in, out);
    return;
  }
  *out =
      Reduce(Summed::kNumbers, *reduction, [&](std::span<float> sums) { DivideAll(sums, reduction->batches.pixels); });
}

// Whether a norm's order is 2; None is.
bool IsTwo(const IValue& order) {
  return order.isNone() || (order.isInt() && Get<int64_t>(order) == 2) || (order.isDouble() && Get<double>(order) == 2);
}

at::Tensor NormOf(const MiddleReduction& reduction) {
  return Reduce(Summed::kSquares, reduction, [](std::span<float> sums) {
    for (float& sum : sums) sum = std::sqrt(sum);
  });
}

// linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)
//   -> Tensor
void VectorNorm(NativeArguments in, IValue* out) {
  const auto reduction =
      IsTwo(in[1]) && in[4].isNone() ? MiddleReductionOf(in[0].toTensor(), in[2], Get<bool>(in[3])) : std::nullopt;
  if (!reduction) {
    EntryOf<at::_ops::linalg_vector_norm>().function(in, out);
    return;
  }
  *out = NormOf(*reduction);
}

// norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor
void Norm(NativeArguments in, IValue* out) {
  const auto reduction = IsTwo(in[1]) ? MiddleReductionOf(in[0].toTensor(), in[2], Get<bool>(in[3])) : std::nullopt;
  if (!reduction) {
    EntryOf<at::_ops::norm_ScalarOpt_dim>().function(in, out);
    return;
  }
  *out = NormOf(*reduction);
}

constexpr NativeEntry kEntries[] = {
    {"aten::adaptive_avg_pool2d", AdaptiveAveragePool},
    {"aten::linalg_vector_norm", VectorNorm},
    {"aten::mean.dim", Mean},
    {"aten::norm.ScalarOpt_dim", Norm},
    {"aten::sum.dim_IntList", Sum},
};

}  // namespace

std::span<const NativeEntry> ReductionNatives() { return kEntries; }

}  // namespace hearth::native
