// aten::upsample_nearest2d of images that lie channels-last, by powers of two: each pixel is copied so many times.
#include <ATen/core/Tensor.h>
#include <ATen/ops/upsample_nearest2d_ops.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "jit/operators/channels_last.h"
#include "jit/operators/native_support.h"
#include "jit/operators/native_thunk.h"
#include "jit/support/parallel_for.h"

namespace hearth::native {
namespace {

// About as long a number takes to be copied, and a pixel of the result to be begun with.
constexpr double kNanosecondsOfNumber = 0.15;
constexpr double kNanosecondsOfPixel = 5;

// How many times as large one side becomes. Nothing if that is no power of two: LibTorch computes with a quotient of
// floats, which is exact for these alone.
std::optional<int64_t> Times(int64_t input, const IValue& sizes, const IValue& factors, size_t side) {
  constexpr int64_t kMost = 64;
  for (int64_t times = 1; times <= kMost; times *= 2) {
    const bool is_size = !sizes.isNone() && Elements(sizes).size() == 2 && factors.isNone() &&
                         Get<int64_t>(Elements(sizes)[side]) == input * times;
    const bool is_factor = !factors.isNone() && Elements(factors).size() == 2 && sizes.isNone() &&
                           Get<double>(Elements(factors)[side]) == static_cast<double>(times);
    if (is_size || is_factor) return times;
  }
  return {};
}

// upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor
void UpsampleNearest(NativeArguments in, IValue* out) {
  const auto images = ChannelsLastImagesOf(in[0].toTensor());
  const auto down = images ? Times(images->height, in[1], in[2], 0) : std::nullopt;
  const auto across = images ? Times(images->width, in[1], in[2], 1) : std::nullopt;
  if (!down || !across) {
    EntryOf<at::_ops::upsample_nearest2d_vec>().function(in, out);
    return;
  }
  const int64_t channels = images->channels, width = images->width * *across;
  at::Tensor result = NewChannelsLast(images->count, channels, images->height * *down, width);
  float* const to = result.mutable_data_ptr<float>();
  const int64_t row = width * channels;
  const double of_pixel = kNanosecondsOfPixel + kNanosecondsOfNumber * static_cast<double>(channels);
  // The rows of all images are one after the other.
  ParallelFor(images->count * images->height, of_pixel * static_cast<double>(*down * width),
              [&](int64_t begin, int64_t end) {
                for (int64_t y = begin; y < end; ++y) {
                  const float* const from = images->first + y * images->width * channels;
                  float* const first = to + y * *down * row;
                  for (int64_t x = 0; x < width; ++x)
                    std::copy_n(from + x / *across * channels, channels, first + x * channels);
                  for (int64_t i = 1; i < *down; ++i) std::copy_n(first, row, first + i * row);
                }
              });
  *out = std::move(result);
}

constexpr NativeEntry kEntries[] = {{"aten::upsample_nearest2d.vec", UpsampleNearest}};

}  // namespace

std::span<const NativeEntry> UpsamplingNatives() { return kEntries; }

}  // namespace hearth::native
