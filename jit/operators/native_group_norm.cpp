// aten::group_norm of images that lie channels-last: the moments of a group are made of those of its channels.
#include <ATen/core/Tensor.h>
#include <ATen/ops/group_norm_ops.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "jit/kernels/pixels.h"
#include "jit/operators/channels_last.h"
#include "jit/operators/native_support.h"
#include "jit/operators/native_thunk.h"
#include "jit/operators/pixel_parts.h"

namespace hearth::native {
namespace {

// About as long a number takes to be read, or to be scaled.
constexpr double kNanosecondsOfNumber = 0.2;
// Of pixels, as are summed in float32; parts are summed in float64.
constexpr int64_t kPixelsOfPart = 16;

// By what the numbers of each channel of each image are multiplied, and what is added then.
struct Scales {
  std::vector<float> factors, offsets;
};

// Of numbers: their sum, and that of their squares.
struct Moments {
  double sum = 0, square = 0;
};

// Of the numbers of each part, one group after another.
std::vector<Moments> MomentsOfParts(const ChannelsLastImages& images, int64_t groups) {
  const PixelBatches batches = BatchesOf(images);
  std::vector<Moments> moments(static_cast<size_t>(images.count * batches.parts(kPixelsOfPart) * groups));
  ForAllParts(batches, kPixelsOfPart, kNanosecondsOfNumber, [&](int64_t i, const kernels::PixelRow& pixels) {
    thread_local std::vector<float> of_channels;
    const auto channels = static_cast<size_t>(images.channels), width = channels / static_cast<size_t>(groups);
    of_channels.resize(2 * channels);
    const float *const sums = of_channels.data(), *const squares = sums + channels;
    kernels::SumPixelsAndSquares(pixels, images.channels, of_channels.data(), of_channels.data() + channels);
    Moments* of_group = moments.data() + i * groups;
    for (size_t begin = 0; begin < channels; begin += width, ++of_group) {
      of_group->sum = std::accumulate(sums + begin, sums + begin + width, 0.0);
      of_group->square = std::accumulate(squares + begin, squares + begin + width, 0.0);
    }
  });
  return moments;
}

// `weight` and `bias`: a number for each channel, or null for ones and zeros.
Scales ScalesOf(const ChannelsLastImages& images, int64_t groups, const float* weight, const float* bias,
                double epsilon) {
  const std::vector<Moments> moments = MomentsOfParts(images, groups);
  const int64_t parts = BatchesOf(images).parts(kPixelsOfPart), width = images.channels / groups;
  const auto numbers = static_cast<double>(width * images.pixels());
  Scales scales;
  for (int64_t group = 0; group < images.count * groups; ++group) {
    const int64_t image = group / groups, of_image = group % groups;
    Moments all;
    for (int64_t part = image * parts; part < (image + 1) * parts; ++part) {
      all.sum += moments[static_cast<size_t>(part * groups + of_image)].sum;
      all.square += moments[static_cast<size_t>(part * groups + of_image)].square;
    }
    const double mean = all.sum / numbers, variance = std::max(all.square / numbers - mean * mean, 0.0);
    const double deviation = std::sqrt(variance + epsilon);
    for (int64_t channel = of_image * width; channel < (of_image + 1) * width; ++channel) {
      const double factor = (weight == nullptr ? 1 : weight[channel]) / deviation;
      scales.factors.push_back(static_cast<float>(factor));
      scales.offsets.push_back(static_cast<float>((bias == nullptr ? 0 : bias[channel]) - mean * factor));
    }
  }
  return scales;
}

// Whether a weight or bias can be read as it lies.
bool SuitsChannels(const at::Tensor* numbers, int64_t channels) {
  return numbers == nullptr || (IsPlainFloat(*numbers) && numbers->dim() == 1 && numbers->sizes()[0] == channels &&
                                HasDefaultStrides(*numbers));
}

// group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05,
//            bool cudnn_enabled=True) -> Tensor
void GroupNorm(NativeArguments in, IValue* out) {
  const auto images = ChannelsLastImagesOf(in[0].toTensor());
  const auto groups = Get<int64_t>(in[1]);
  const at::Tensor *weight = OptionalTensorOf(in[2]), *bias = OptionalTensorOf(in[3]);
  if (!images || groups <= 0 || images->channels % groups != 0 || !SuitsChannels(weight, images->channels) ||
      !SuitsChannels(bias, images->channels)) {
    EntryOf<at::_ops::group_norm>().function(in, out);
    return;
  }
  at::Tensor result = NewChannelsLast(images->count, images->channels, images->height, images->width);
  const auto numbers_of = [](const at::Tensor* tensor) {
    return tensor == nullptr ? nullptr : tensor->const_data_ptr<float>();
  };
  const Scales scales = ScalesOf(*images, groups, numbers_of(weight), numbers_of(bias), Get<double>(in[4]));
  float* const to = result.mutable_data_ptr<float>();
  const PixelBatches batches = BatchesOf(*images);
  const int64_t parts = batches.parts(kPixelsOfPart);
  ForAllParts(batches, kPixelsOfPart, kNanosecondsOfNumber, [&](int64_t i, const kernels::PixelRow& pixels) {
    const int64_t first = i / parts * images->channels;
    kernels::ScalePixels(pixels, images->channels, scales.factors.data() + first, scales.offsets.data() + first,
                         to + (pixels.first - images->first));
  });
  *out = std::move(result);
}

constexpr NativeEntry kEntries[] = {{"aten::group_norm", GroupNorm}};

}  // namespace

std::span<const NativeEntry> GroupNormNatives() { return kEntries; }

}  // namespace hearth::native
