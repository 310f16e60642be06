#include "jit/kernels/depthwise.h"

#include <algorithm>
#include <array>

#include "jit/kernels/panel.h"
#include "jit/kernels/target.h"

namespace hearth::kernels {
namespace {

// Floats of the input's rows that are read for all channels before the next ones are, so that they stay in a
// processor's own cache.
constexpr int64_t kChunkFloats = int64_t{1} << 17;
// Floats of kernels that stay in the first cache beside what they are multiplied with.
constexpr int64_t kKernelFloats = int64_t{1} << 11;
// Multiplications that are worth a part of their own, and about how long one takes.
constexpr int64_t kLeastPartWork = int64_t{1} << 15;
constexpr double kNanosecondsOfProduct = 0.08;

// Pixels side by side in the result, of one panel.
struct PixelTile {
  const float* input;   // of the first channel, in the first of the kernel's rows that lies within, at column 0
  const float* packed;  // likewise
  const float* bias;
  float* result;
  int64_t input_stride;   // from one pixel to the next
  int64_t result_stride;  // likewise
  int64_t row_stride;     // from one of the kernel's rows to the next in the input
  int64_t rows;           // of the kernel, within the image
  int64_t column;         // of the input, where the kernel's first column falls for the first pixel; may be negative
  int64_t columns;        // that the input has
  int64_t pixels;
  int64_t kernel, stride, dilation;  // along the width
  bool adds;
  float least, most;  // of what is in the result then; a NaN stays
  int64_t last;       // channels of the last vector
};

}  // namespace

}  // namespace hearth::kernels

#define HEARTH_LOOPS "jit/kernels/depthwise_loops.h"
#include "jit/kernels/for_both_vectors.h"

namespace hearth::kernels {

namespace {

int64_t ChannelsOfPanel() { return HasAvx512() ? avx512::kChannelsOfPanel : avx2::kChannelsOfPanel; }
int64_t PaddedChannels(int64_t channels) { return DivideUp(channels, LanesHere()) * LanesHere(); }

}  // namespace

int64_t DepthwisePackedSize(int64_t channels, int64_t kernel_height, int64_t kernel_width) {
  return PaddedChannels(channels) * kernel_height * kernel_width;
}

void PackDepthwise(const float* kernels, int64_t channels, int64_t kernel_height, int64_t kernel_width,
                   int64_t channel_stride, int64_t row_stride, int64_t column_stride, float* packed) {
  for (int64_t first = 0; first < channels; first += ChannelsOfPanel()) {
    const int64_t count = std::min(channels - first, ChannelsOfPanel()), padded = PaddedChannels(count);
    for (int64_t y = 0; y < kernel_height; ++y) {
      for (int64_t x = 0; x < kernel_width; ++x, packed += padded) {
        const float* const from = kernels + first * channel_stride + y * row_stride + x * column_stride;
        for (int64_t c = 0; c < padded; ++c) packed[c] = c < count ? from[c * channel_stride] : 0;
      }
    }
  }
}

DepthwiseParts::DepthwiseParts(const ImageConvolution& convolution, int threads)
    : convolution_(convolution), panels_(DivideUp(convolution.channels, ChannelsOfPanel())) {
  const ConvolutionSide &height = convolution.height, &width = convolution.width;
  const int64_t kernel = height.kernel * width.kernel;
  panels_of_part_ = std::clamp<int64_t>(kKernelFloats / std::max<int64_t>(ChannelsOfPanel() * kernel, 1), 1,
                                        std::max<int64_t>(panels_, 1));
  panel_parts_ = DivideUp(panels_, panels_of_part_);
  const int64_t input_row = width.input * convolution.channels * std::min(height.stride, height.kernel);
  rows_ = std::clamp<int64_t>(kChunkFloats / std::max<int64_t>(input_row, 1), 1, std::max<int64_t>(height.result, 1));
  // Several parts a thread, unless they get too small.
  const int64_t work = width.result * ChannelsOfPanel() * kernel * panels_of_part_;
  const int64_t least_rows = std::max<int64_t>(kLeastPartWork / std::max<int64_t>(work, 1), 1);
  const int64_t others = convolution.images * panel_parts_;
  if (threads > 1 && others < 4 * threads) {
    const int64_t wanted = DivideUp(4 * threads, std::max<int64_t>(others, 1));
    rows_ = std::min(rows_, std::max(DivideUp(height.result, wanted), least_rows));
  }
  chunks_ = DivideUp(height.result, rows_);
  nanoseconds_ = kNanosecondsOfProduct * static_cast<double>(rows_ * work);
  count_ = convolution.images * chunks_ * panel_parts_;
}

void DepthwiseParts::Compute(int64_t begin, int64_t end) const {
  const auto compute = HasAvx512() ? avx512::ComputeRows : avx2::ComputeRows;
  for (int64_t part = begin; part < end; ++part) {
    const int64_t chunk = part / panel_parts_ % chunks_, image = part / panel_parts_ / chunks_;
    const int64_t row = chunk * rows_, panel = part % panel_parts_ * panels_of_part_;
    compute(convolution_, image, {row, std::min(row + rows_, convolution_.height.result)},
            {panel, std::min(panel + panels_of_part_, panels_)});
  }
}

}  // namespace hearth::kernels
