// How threads share a convolution of images: each part is some rows of one image's result, of some of its channels. A
// thread that computes a part reads the weights of its channels and the rows of the input that it needs.
#pragma once

#include <cstdint>
#include <vector>

namespace hearth::libraries {

// Sizes in elements. Of one image: `height` and `width` of the input, `rows` and `columns` of the result.
struct ConvolutionShape {
  int64_t images, channels, height, width;
  int64_t out_channels, rows, columns;
  int64_t kernel_height, kernel_width, stride, padding, dilation;  // the last three from row to row
  int64_t groups = 1;

  double nanoseconds() const;  // about, on one thread
};

struct ConvolutionPart {
  int64_t image;
  int64_t row, rows;                     // of the result
  int64_t input_row, input_rows;         // that they are computed of, without the padding
  int64_t padding_above, padding_below;  // of these rows
  int64_t channel, channels;             // of the result
};

// Whether threads share a convolution in such parts at all: one of them is enough for less, and what takes longer
// OpenMP's threads share better, as the library has it, whatever their waking takes.
bool IsSharedInParts(const ConvolutionShape& shape);

// Of all of the result, each element in one of them; none where it is not shared so, or among one thread. Channels are
// only divided between multiples of `channel_block`; 0: not at all.
std::vector<ConvolutionPart> PartsOf(const ConvolutionShape& shape, int threads, int64_t channel_block);

}  // namespace hearth::libraries
