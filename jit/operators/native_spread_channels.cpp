// hearth::spread_channels: images whose pixels hold those of a block of pixels each, the rows of the block first,
// become images of these, channels-last, without the first and last rows and columns. What a transposed convolution is
// made of.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdint>

#include "jit/operators/channels_last.h"
#include "jit/operators/native_support.h"
#include "jit/operators/native_thunk.h"
#include "jit/operators/strided_copy.h"
#include "jit/support/parallel_for.h"

namespace hearth::native {
namespace {

// Along one side of the images.
struct SpreadSide {
  int64_t blocks, factor, first, size;
};

SpreadSide SideOf(NativeArguments in, const at::Tensor& images, size_t side) {
  const auto number = [&](size_t argument) { return Get<int64_t>(Elements(in[argument])[side]); };
  const int64_t blocks = images.size(static_cast<int64_t>(side) + 2);
  const SpreadSide found = {blocks, number(1), number(2), blocks * number(1) - number(2) - number(3)};
  TORCH_CHECK(found.factor >= 1 && found.first >= 0 && number(3) >= 0 && found.size >= 0,
              "expected factors of 1 and more, and to leave out no more than there is; found ", found.factor, ", ",
              found.first, " and ", number(3), " of ", blocks, " blocks");
  return found;
}

void SpreadRows(const ChannelsLastImages& images, const SpreadSide& height, const SpreadSide& width, float* to) {
  const int64_t channels = images.channels / (height.factor * width.factor), run = width.factor * channels;
  const int64_t row_size = width.size * channels;
  const double of_row = kNanosecondsOfCopiedNumber * static_cast<double>(row_size) +
                        kNanosecondsOfCopiedRun * static_cast<double>(width.blocks);
  ParallelFor(images.count * height.size, of_row, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t image = row / height.size, y = row % height.size + height.first;
      const float* from = images.first + image * images.size() +
                          (y / height.factor * images.width + width.first / width.factor) * images.channels +
                          y % height.factor * run;
      float *next = to + row * row_size, *const last = next + row_size;
      int64_t skipped = width.first % width.factor * channels;
      while (next < last) {
        const int64_t size = std::min<int64_t>(run - skipped, last - next);
        CopyRun(from + skipped, size, next);
        skipped = 0;
        next += size;
        from += images.channels;
      }
    }
  });
}

// spread_channels(Tensor images, int[] factors, int[] first, int[] last) -> Tensor
void SpreadChannels(NativeArguments in, IValue* out) {
  const at::Tensor& images = in[0].toTensor();
  TORCH_CHECK(images.dim() == 4, "expected a batch of images, found sizes ", images.sizes());
  for (const size_t argument : {1, 2, 3})
    TORCH_CHECK(Elements(in[argument]).size() == 2, "expected a number for each side of the images");
  const SpreadSide height = SideOf(in, images, 0), width = SideOf(in, images, 1);
  const int64_t of_block = height.factor * width.factor, channels = images.size(1) / of_block;
  TORCH_CHECK(images.size(1) % of_block == 0, "expected channels for ", of_block, " pixels, found ", images.size(1));
  const auto lying = ChannelsLastImagesOf(images);
  if (!lying || height.size * width.size == 0) {
    const at::Tensor spread = images.reshape({-1, height.factor, width.factor, channels, height.blocks, width.blocks})
                                  .permute({0, 3, 4, 1, 5, 2})
                                  .reshape({-1, channels, height.blocks * height.factor, width.blocks * width.factor});
    *out =
        at::empty({spread.size(0), channels, height.size, width.size}, spread.options(), at::MemoryFormat::ChannelsLast)
            .copy_(spread.narrow(2, height.first, height.size).narrow(3, width.first, width.size));
    return;
  }
  at::Tensor result = NewChannelsLast(lying->count, channels, height.size, width.size);
  SpreadRows(*lying, height, width, result.mutable_data_ptr<float>());
  *out = std::move(result);
}

constexpr NativeEntry kEntries[] = {{"hearth::spread_channels", SpreadChannels}};

}  // namespace

std::span<const NativeEntry> SpreadChannelsNatives() { return kEntries; }

}  // namespace hearth::native
