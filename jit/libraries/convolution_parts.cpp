#include "jit/libraries/convolution_parts.h"

#include <algorithm>
#include <limits>

#include "jit/support/parallel_for.h"

namespace hearth::libraries {
namespace {

// About what one thread does in a nanosecond, where several are at work.
constexpr double kProducts = 50;
constexpr double kBytes = 8;
// Nanoseconds of one thread from which on OpenMP's threads share it (docs/decisions/operator_threads.md).
constexpr double kLong = 400'000;

int64_t Quotient(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Of the rows [row, row + rows) of a result.
ConvolutionPart RowsOf(const ConvolutionShape& shape, int64_t image, int64_t row, int64_t rows) {
  const int64_t begin = row * shape.stride - shape.padding;
  const int64_t end = (row + rows - 1) * shape.stride - shape.padding + (shape.kernel_height - 1) * shape.dilation + 1;
  const int64_t first = std::max<int64_t>(begin, 0), last = std::min(end, shape.height);
  return {image, row, rows, first, last - first, first - begin, end - last, 0, shape.out_channels};
}

// How many parts the rows of an image and the channels are divided into, evenly.
struct Division {
  int64_t rows, channels;

  // About how long the threads take together.
  double Nanoseconds(const ConvolutionShape& shape, int threads, int64_t blocks) const {
    const auto share = [](int64_t all, int64_t parts) {
      return static_cast<double>(Quotient(all, parts)) / static_cast<double>(all);
    };
    const double of_rows = share(shape.rows, rows), of_channels = share(blocks, channels);
    const double weights = static_cast<double>(shape.out_channels * (shape.channels / shape.groups)) *
                           static_cast<double>(shape.kernel_height * shape.kernel_width);
    const double image = static_cast<double>(shape.channels * shape.width) * static_cast<double>(shape.height);
    const double products = shape.nanoseconds() / static_cast<double>(shape.images) * of_rows * of_channels;
    const double bytes = sizeof(float) * (weights * of_channels + image * of_rows);
    const int64_t turns = Quotient(shape.images * rows * channels, threads);
    return static_cast<double>(turns) * (products + bytes / kBytes);
  }
};

}  // namespace

double ConvolutionShape::nanoseconds() const {
  const double elements = static_cast<double>(images * rows) * static_cast<double>(columns * out_channels);
  return elements * static_cast<double>(channels / groups * kernel_height * kernel_width) / kProducts;
}

bool IsSharedInParts(const ConvolutionShape& shape) {
  return shape.nanoseconds() >= kWorthSharing && shape.nanoseconds() < kLong;
}

std::vector<ConvolutionPart> PartsOf(const ConvolutionShape& shape, int threads, int64_t channel_block) {
  if (threads == 1 || !IsSharedInParts(shape)) return {};
  const int64_t blocks = channel_block == 0 ? 1 : Quotient(shape.out_channels, channel_block);
  Division best{1, 1};
  double least = std::numeric_limits<double>::infinity();
  for (int64_t channels = 1; channels <= std::min<int64_t>(blocks, threads); ++channels) {
    for (int64_t rows = 1; rows <= std::min<int64_t>(shape.rows, threads); ++rows) {
      const Division division{rows, channels};
      const double nanoseconds = division.Nanoseconds(shape, threads, blocks);
      if (nanoseconds >= least) continue;
      least = nanoseconds;
      best = division;
    }
  }
  std::vector<ConvolutionPart> parts;
  for (int64_t image = 0; image < shape.images; ++image) {
    for (int64_t i = 0; i < best.channels; ++i) {
      for (int64_t j = 0; j < best.rows; ++j) {
        const int64_t row = shape.rows * j / best.rows, end = shape.rows * (j + 1) / best.rows;
        ConvolutionPart part = RowsOf(shape, image, row, end - row);
        if (part.input_rows <= 0) return {};
        if (best.channels > 1) {
          part.channel = blocks * i / best.channels * channel_block;
          part.channels = std::min(blocks * (i + 1) / best.channels * channel_block, shape.out_channels) - part.channel;
        }
        parts.push_back(part);
      }
    }
  }
  return parts;
}

}  // namespace hearth::libraries
