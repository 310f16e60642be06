// Images of another size: aten::upsample_nearest2d, _upsample_nearest_exact2d, upsample_bilinear2d and
// upsample_bicubic2d of floats in either format, one side after the other: each row of the result is made of rows of
// the input, and each of its pixels of pixels of that.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_upsample_nearest_exact2d_ops.h>
#include <ATen/ops/upsample_bicubic2d_ops.h>
#include <ATen/ops/upsample_bilinear2d_ops.h>
#include <ATen/ops/upsample_nearest2d_ops.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "jit/kernels/pixels.h"
#include "jit/operators/channels_last.h"
#include "jit/operators/native_support.h"
#include "jit/operators/native_thunk.h"
#include "jit/operators/strided_copy.h"
#include "jit/support/parallel_for.h"

namespace hearth::native {
namespace {

// About as long a number takes to be added to another one, and a pixel of the result to be begun with.
constexpr double kNanosecondsOfNumber = 0.15;
constexpr double kNanosecondsOfPixel = 5;

enum class Method { kNearest, kNearestExact, kLinear, kCubic };

// How many numbers along a side one of the result is made of.
constexpr int64_t TapsOf(Method method) { return method == Method::kCubic ? 4 : method == Method::kLinear ? 2 : 1; }
constexpr int64_t kMostTaps = 4;

// Weights of the four numbers around a place that is so far from the second one: R. Keys, "Cubic Convolution
// Interpolation for Digital Image Processing" (IEEE TASSP 29, 1981), with a = -0.75.
std::array<float, 4> CubicWeights(float t) {
  constexpr float a = -0.75F;
  const auto near = [](float x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](float x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

struct SideSizes {
  int64_t input, output;
  std::optional<double> factor;  // that was asked for
};

// Where the numbers of a side of the result come from, and with what weights.
struct Side {
  int64_t output, taps;
  std::vector<int64_t> at;
  std::vector<float> weights;

  std::span<const int64_t> At(int64_t i) const { return std::span(at).subspan(static_cast<size_t>(i * taps), count()); }
  const float* Weights(int64_t i) const { return weights.data() + i * taps; }
  size_t count() const { return static_cast<size_t>(taps); }

  // Places are computed in floats, as LibTorch does: what is nearest depends on it.
  Side(Method method, const SideSizes& sizes, bool align_corners) : output(sizes.output), taps(TapsOf(method)) {
    const auto input = static_cast<float>(sizes.input);
    float scale = sizes.factor && *sizes.factor > 0 ? static_cast<float>(1.0 / *sizes.factor)
                                                    : input / static_cast<float>(sizes.output);
    if (align_corners) scale = sizes.output > 1 ? (input - 1) / static_cast<float>(sizes.output - 1) : 0;
    const auto add = [&](int64_t from, float weight) {
      at.push_back(std::clamp<int64_t>(from, 0, sizes.input - 1));
      weights.push_back(weight);
    };
    for (int64_t i = 0; i < output; ++i) {
      const auto x = static_cast<float>(i);
      if (method == Method::kNearest) {
        const bool is_exact = sizes.output == sizes.input || sizes.output == 2 * sizes.input;
        add(is_exact ? i * sizes.input / sizes.output : static_cast<int64_t>(std::floor(x * scale)), 1);
      } else if (method == Method::kNearestExact) {
        add(static_cast<int64_t>(std::floor((x + 0.5F) * scale)), 1);
      } else {
        float place = align_corners ? scale * x : scale * (x + 0.5F) - 0.5F;
        if (method == Method::kLinear) place = std::max(place, 0.0F);
        const auto begin = static_cast<int64_t>(std::floor(place));
        const float beyond = place - static_cast<float>(begin);
        if (method == Method::kLinear) {
          add(begin, 1 - beyond);
          add(begin + 1, beyond);
        } else {
          const std::array<float, 4> of_all = CubicWeights(beyond);
          for (int64_t j = 0; j < 4; ++j) add(begin - 1 + j, of_all[static_cast<size_t>(j)]);
        }
      }
    }
  }
};

// Images as rows of pixels: with all channels of each, or of one channel after the other.
struct ImageRows {
  const float* first;
  int64_t planes;  // images, or channels of them
  int64_t height, width;
  int64_t channels;  // of a pixel
};

std::optional<ImageRows> RowsOf(const at::Tensor& tensor) {
  if (const auto images = ChannelsLastImagesOf(tensor))
    return ImageRows{images->first, images->count, images->height, images->width, images->channels};
  const bool suits = IsPlainFloat(tensor) && tensor.dim() == 4 && tensor.numel() > 0 && HasDefaultStrides(tensor) &&
                     tensor.suggest_memory_format() == at::MemoryFormat::Contiguous && KernelsMayStandIn();
  if (!suits) return {};
  const c10::IntArrayRef sizes = tensor.sizes();
  return ImageRows{tensor.const_data_ptr<float>(), sizes[0] * sizes[1], sizes[2], sizes[3], 1};
}

// The images, or a copy of those that lie otherwise, as LibTorch would make one.
at::Tensor InRows(const at::Tensor& images) {
  if (!MayCopy(images) || images.dim() != 4 || RowsOf(images)) return images;
  return Copied(images, images.suggest_memory_format());
}

// How large the result is asked to be: either its sizes or by how much it is larger, of both sides in a list each, or
// its sizes and perhaps how much that is, of each side alone.
struct AskedSizes {
  const IValue* sizes;
  const IValue* factors = nullptr;
  const IValue *down = nullptr, *across = nullptr;
};

// Of a side; nothing where LibTorch has to say what is wrong, or places and weights would take much memory beside the
// result's.
std::optional<SideSizes> SizesOf(int64_t input, const AskedSizes& asked, size_t side) {
  constexpr int64_t kMost = int64_t{1} << 20;
  SideSizes result{input, 0, std::nullopt};
  if (asked.factors != nullptr && !asked.factors->isNone()) {
    if (!asked.sizes->isNone() || Elements(*asked.factors).size() != 2) return {};
    result.factor = Get<double>(Elements(*asked.factors)[side]);
    const double size = static_cast<double>(input) * *result.factor;
    if (!(size >= 1 && size <= static_cast<double>(kMost))) return {};
    result.output = static_cast<int64_t>(size);
  } else {
    if (asked.sizes->isNone() || Elements(*asked.sizes).size() != 2) return {};
    result.output = Get<int64_t>(Elements(*asked.sizes)[side]);
    const IValue* factor = side == 0 ? asked.down : asked.across;
    if (factor != nullptr && !factor->isNone()) result.factor = Get<double>(*factor);
  }
  return result.output > 0 && result.output <= kMost ? std::optional(result) : std::nullopt;
}

// What is made of one row for all of its result's pixels, of one channel each.
template <int64_t kTaps>
void ResampleNumbers(const Side& width, const float* row, float* to) {
  const int64_t* at = width.at.data();
  const float* weights = width.weights.data();
  for (int64_t x = 0; x < width.output; ++x, at += kTaps, weights += kTaps) {
    float sum = weights[0] * row[at[0]];
    for (int64_t i = 1; i < kTaps; ++i) sum += weights[i] * row[at[i]];
    to[x] = sum;
  }
}

void ResampleRow(const Side& width, int64_t channels, const float* row, float* to) {
  if (channels == 1) {
    if (width.taps == 1) return ResampleNumbers<1>(width, row, to);
    if (width.taps == 2) return ResampleNumbers<2>(width, row, to);
    return ResampleNumbers<4>(width, row, to);
  }
  for (int64_t x = 0; x < width.output; ++x, to += channels) {
    const std::span<const int64_t> at = width.At(x);
    if (width.taps == 1) {
      std::copy_n(row + at[0] * channels, channels, to);
      continue;
    }
    std::array<const float*, kMostTaps> pixels;
    for (size_t i = 0; i < at.size(); ++i) pixels[i] = row + at[i] * channels;
    kernels::BlendPixels(std::span(pixels).first(at.size()), width.Weights(x), channels, to);
  }
}

void Resample(const ImageRows& images, const Side& height, const Side& width, float* to) {
  const int64_t row_size = images.width * images.channels, result_row = width.output * images.channels;
  const double of_pixel =
      kNanosecondsOfPixel + kNanosecondsOfNumber * static_cast<double>(width.taps * images.channels);
  const double of_row =
      of_pixel * static_cast<double>(width.output) + kNanosecondsOfNumber * static_cast<double>(height.taps * row_size);
  ParallelFor(images.planes * height.output, of_row, [&](int64_t begin, int64_t end) {
    thread_local std::vector<float> blended;
    for (int64_t i = begin; i < end; ++i) {
      const float* const plane = images.first + i / height.output * images.height * row_size;
      const int64_t y = i % height.output;
      const std::span<const int64_t> at = height.At(y);
      float* const result = to + i * result_row;
      if (height.taps == 1 && i > begin && y > 0 && height.At(y - 1)[0] == at[0]) {
        std::copy_n(result - result_row, result_row, result);
        continue;
      }
      const float* row = plane + at[0] * row_size;
      if (height.taps > 1) {
        blended.resize(static_cast<size_t>(row_size));
        std::array<const float*, kMostTaps> rows;
        for (size_t j = 0; j < at.size(); ++j) rows[j] = plane + at[j] * row_size;
        kernels::BlendPixels(std::span(rows).first(at.size()), height.Weights(y), row_size, blended.data());
        row = blended.data();
      }
      ResampleRow(width, images.channels, row, result);
    }
  });
}

template <typename Operator>
void Upsample(Method method, bool align_corners, const AskedSizes& asked, NativeArguments in, IValue* out) {
  const at::Tensor input = InRows(in[0].toTensor());
  const auto images = RowsOf(input);
  const auto height = images ? SizesOf(images->height, asked, 0) : std::nullopt;
  const auto width = images ? SizesOf(images->width, asked, 1) : std::nullopt;
  if (!height || !width) {
    EntryOf<Operator>().function(in, out);
    return;
  }
  const c10::IntArrayRef sizes = input.sizes();
  at::Tensor result = NewFloats({sizes[0], sizes[1], height->output, width->output}, input.suggest_memory_format());
  Resample(*images, Side(method, *height, align_corners), Side(method, *width, align_corners),
           result.mutable_data_ptr<float>());
  *out = std::move(result);
}

// .vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor
template <typename Operator, Method kMethod>
void ByLists(NativeArguments in, IValue* out) {
  Upsample<Operator>(kMethod, false, {.sizes = &in[1], .factors = &in[2]}, in, out);
}
// .vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor
template <typename Operator, Method kMethod>
void AlignedByLists(NativeArguments in, IValue* out) {
  Upsample<Operator>(kMethod, Get<bool>(in[2]), {.sizes = &in[1], .factors = &in[3]}, in, out);
}
// (Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor
template <typename Operator, Method kMethod>
void BySizes(NativeArguments in, IValue* out) {
  Upsample<Operator>(kMethod, false, {.sizes = &in[1], .down = &in[2], .across = &in[3]}, in, out);
}
// (Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor
template <typename Operator, Method kMethod>
void AlignedBySizes(NativeArguments in, IValue* out) {
  Upsample<Operator>(kMethod, Get<bool>(in[2]), {.sizes = &in[1], .down = &in[3], .across = &in[4]}, in, out);
}

using enum Method;
constexpr NativeEntry kEntries[] = {
    {"aten::upsample_nearest2d", BySizes<at::_ops::upsample_nearest2d, kNearest>},
    {"aten::upsample_nearest2d.vec", ByLists<at::_ops::upsample_nearest2d_vec, kNearest>},
    {"aten::_upsample_nearest_exact2d", BySizes<at::_ops::_upsample_nearest_exact2d, kNearestExact>},
    {"aten::_upsample_nearest_exact2d.vec", ByLists<at::_ops::_upsample_nearest_exact2d_vec, kNearestExact>},
    {"aten::upsample_bilinear2d", AlignedBySizes<at::_ops::upsample_bilinear2d, kLinear>},
    {"aten::upsample_bilinear2d.vec", AlignedByLists<at::_ops::upsample_bilinear2d_vec, kLinear>},
    {"aten::upsample_bicubic2d", AlignedBySizes<at::_ops::upsample_bicubic2d, kCubic>},
    {"aten::upsample_bicubic2d.vec", AlignedByLists<at::_ops::upsample_bicubic2d_vec, kCubic>},
};

}  // namespace

std::span<const NativeEntry> UpsamplingNatives() { return kEntries; }

}  // namespace hearth::native
