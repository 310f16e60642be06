// aten::softmax along a dimension within which, in memory, others lie: over the tokens of each channel. Also into
// memory that a plan has for it. LibTorch shares the numbers around that dimension between threads of its own, so that
// few of them work where there are few of those.
#include <ATen/core/Tensor.h>
#include <ATen/ops/softmax_ops.h>
#include <c10/util/SmallVector.h>
#include <c10/util/strides.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "jit/kernels/pixels.h"
#include "jit/operators/native_support.h"
#include "jit/operators/native_thunk.h"
#include "jit/operators/pixel_parts.h"
#include "jit/operators/plain_tensor.h"
#include "jit/operators/strided_copy.h"
#include "jit/support/parallel_for.h"

namespace hearth::native {
namespace {

// About as long the exponential of a number takes, with what is around it.
constexpr double kNanosecondsOfNumber = 0.5;
// With fewer of them most lanes of a vector would be idle.
constexpr int64_t kFewestChannels = 8;
// That one thread takes at a time.
constexpr int64_t kPixelsOfPart = 64;

// Channels that lie one after the other in the result, too.
struct ChannelRun {
  int64_t begin, size;
  int64_t to;  // where the first one is in the result, in floats
};

// The "pixels" over which numbers are divided up lie between the batches around them and the channels within.
struct ColumnSoftmax {
  const float* from;
  int64_t pixels, pixel_stride, result_pixel_stride;
  int64_t channels;
  std::vector<ChannelRun> runs;
  c10::SmallVector<CopiedDimension, 6> batches;  // the innermost first

  int64_t batch_count() const {
    int64_t count = 1;
    for (const CopiedDimension& each : batches) count *= each.size;
    return count;
  }
};

// The channels of a tensor, of which the next dimension around those before is one.
bool AddChannels(int64_t size, int64_t stride, int64_t result_stride, ColumnSoftmax* found) {
  if (stride != found->channels) return false;
  if (found->runs.empty()) {
    if (result_stride != 1) return false;
    found->runs.push_back({0, size, 0});
  } else if (found->runs.size() == 1 && found->runs[0].size == result_stride) {
    found->runs[0].size *= size;
  } else {
    const std::vector<ChannelRun> within = found->runs;
    for (int64_t i = 1; i < size; ++i) {
      for (const ChannelRun& run : within)
        found->runs.push_back({run.begin + i * found->channels, run.size, run.to + i * result_stride});
    }
  }
  found->channels *= size;
  return true;
}

// `strides`: the result's.
std::optional<ColumnSoftmax> ColumnSoftmaxOf(const at::Tensor& tensor, int64_t dim, c10::IntArrayRef strides) {
  const int64_t rank = tensor.dim();
  if (!IsPlainFloat(tensor) || tensor.numel() == 0 || dim < -rank || dim >= rank || !KernelsMayStandIn()) return {};
  const auto along = static_cast<size_t>(dim < 0 ? dim + rank : dim);
  ColumnSoftmax found{tensor.const_data_ptr<float>(), 0, 0, 0, 1, {}, {}};
  const std::vector<size_t> nesting = NestingOf(tensor);
  for (auto i = nesting.rbegin(); i != nesting.rend(); ++i) {
    const int64_t size = tensor.sizes()[*i], stride = tensor.strides()[*i];
    if (*i == along) {
      found.pixels = size;
      found.pixel_stride = stride;
      found.result_pixel_stride = strides[*i];
    } else if (found.pixels != 0) {
      found.batches.push_back({size, stride, strides[*i]});
    } else if (!AddChannels(size, stride, strides[*i], &found)) {
      return {};
    }
  }
  return found.pixels > 0 && found.channels >= kFewestChannels ? std::optional(std::move(found)) : std::nullopt;
}

// Of a part of a batch's pixels: the largest number of each channel, and the sum of the exponentials beside it.
struct Weights {
  float* largest;
  float* sums;
};

void Weigh(const kernels::PixelRow& pixels, int64_t channels, const Weights& weights) {
  kernels::LargestOfPixels(pixels, channels, weights.largest);
  kernels::SumExponentials(pixels, channels, weights.largest, weights.sums);
}

// Of all parts of a batch, in the memory of the first one, with the sums' inverses in the place of them.
void Combine(const Weights& first, int64_t parts, int64_t channels) {
  const auto count = static_cast<size_t>(channels);
  const kernels::PixelRow largest_of_parts{first.largest, parts, channels};
  std::vector<float> largest(count), ones(count, 1.0F), factors(static_cast<size_t>(parts) * count);
  kernels::LargestOfPixels(largest_of_parts, channels, largest.data());
  kernels::ScaleExponentials(largest_of_parts, channels, largest.data(), ones.data(), factors.data(), channels);
  for (size_t i = 0; i < count; ++i) first.sums[i] *= factors[i];
  for (size_t part = 1; part < static_cast<size_t>(parts); ++part) {
    for (size_t i = 0; i < count; ++i) first.sums[i] += first.sums[part * count + i] * factors[part * count + i];
  }
  for (size_t i = 0; i < count; ++i) first.sums[i] = 1 / first.sums[i];
  std::ranges::copy(largest, first.largest);
}

void Compute(const ColumnSoftmax& softmax, float* to) {
  const int64_t batches = softmax.batch_count(), channels = softmax.channels;
  const int64_t parts = kernels::DivideUp(softmax.pixels, kPixelsOfPart);
  const std::unique_ptr<float[]> scratch(new float[static_cast<size_t>(2 * batches * parts * channels)]);
  const auto weights_of = [&](int64_t part) {
    return Weights{scratch.get() + part * channels, scratch.get() + (batches * parts + part) * channels};
  };
  const auto pixels_of = [&](int64_t i) {
    const int64_t part = i % parts, begin = softmax.pixels * part / parts, end = softmax.pixels * (part + 1) / parts;
    int64_t batch = i / parts;
    int64_t from = begin * softmax.pixel_stride, result = begin * softmax.result_pixel_stride;
    for (const CopiedDimension& each : softmax.batches) {
      from += batch % each.size * each.from_stride;
      result += batch % each.size * each.to_stride;
      batch /= each.size;
    }
    return std::pair(kernels::PixelRow{softmax.from + from, end - begin, softmax.pixel_stride}, to + result);
  };
  const double nanoseconds =
      kNanosecondsOfNumber * static_cast<double>(std::min(softmax.pixels, kPixelsOfPart) * channels);
  ParallelFor(batches * parts, nanoseconds, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) Weigh(pixels_of(i).first, channels, weights_of(i));
  });
  for (int64_t batch = 0; batch < batches; ++batch) Combine(weights_of(batch * parts), parts, channels);
  ParallelFor(batches * parts, nanoseconds, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Weights weights = weights_of(i / parts * parts);
      const auto [pixels, result] = pixels_of(i);
      for (const ChannelRun& run : softmax.runs) {
        kernels::ScaleExponentials({pixels.first + run.begin, pixels.count, pixels.stride}, run.size,
                                   weights.largest + run.begin, weights.sums + run.begin, result + run.to,
                                   softmax.result_pixel_stride);
      }
    }
  });
}

// softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
void Softmax(NativeArguments in, IValue* out) {
  const at::Tensor& input = in[0].toTensor();
  const auto softmax = in[2].isNone() && IsPlainFloat(input)
                           ? ColumnSoftmaxOf(input, in[1].toInt(), c10::contiguous_strides(input.sizes()))
                           : std::nullopt;
  if (!softmax) {
    EntryOf<at::_ops::softmax_int>().function(in, out);
    return;
  }
  at::Tensor result = NewFloats(input.sizes(), at::MemoryFormat::Contiguous);
  Compute(*softmax, result.mutable_data_ptr<float>());
  *out = std::move(result);
}

// softmax.int_out(Tensor self, int dim, ScalarType? dtype=None, *, Tensor(a!) out) -> Tensor(a!)
void SoftmaxInto(NativeArguments in, IValue* out) {
  const at::Tensor &input = in[0].toTensor(), &memory = in[3].toTensor();
  const bool fits = in[2].isNone() && IsPlainFloat(memory) && memory.sizes() == input.sizes() &&
                    HasDefaultStrides(memory) && !memory.is_alias_of(input);
  const auto softmax = fits ? ColumnSoftmaxOf(input, in[1].toInt(), memory.strides()) : std::nullopt;
  if (!softmax) {
    EntryOf<at::_ops::softmax_int_out>().function(in, out);
    return;
  }
  Compute(*softmax, memory.mutable_data_ptr<float>());
  *out = in[3];
}

constexpr NativeEntry kEntries[] = {{"aten::softmax.int", Softmax}, {"aten::softmax.int_out", SoftmaxInto}};

}  // namespace

std::span<const NativeEntry> SoftmaxNatives() { return kEntries; }

}  // namespace hearth::native
