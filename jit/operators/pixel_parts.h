// Batches of pixels, each computed in parts by all threads of the caller: images, or sequences of tokens.
#pragma once

#include <algorithm>
#include <cstdint>

#include "jit/kernels/pixels.h"
#include "jit/kernels/target.h"
#include "jit/operators/channels_last.h"
#include "jit/support/parallel_for.h"

namespace hearth::native {

struct PixelBatches {
  const float* first;
  int64_t count, pixels, channels;
  int64_t batch_stride, pixel_stride;  // in floats

  // One after the other in memory.
  static PixelBatches Dense(const float* first, int64_t count, int64_t pixels, int64_t channels) {
    return {first, count, pixels, channels, pixels * channels, channels};
  }
  // Of a batch, of so many pixels at most each.
  int64_t parts(int64_t most) const { return kernels::DivideUp(pixels, most); }
  kernels::PixelRow Pixels(int64_t batch, int64_t begin, int64_t end) const {
    return {first + batch * batch_stride + begin * pixel_stride, end - begin, pixel_stride};
  }
};

inline PixelBatches BatchesOf(const ChannelsLastImages& images) {
  return PixelBatches::Dense(images.first, images.count, images.pixels(), images.channels);
}

// Calls `work` with each part of each batch, of `most` pixels at most: its number among all parts, the first one's
// batch first, and its pixels. `nanoseconds` is about how long a number takes.
template <typename Work>
void ForAllParts(const PixelBatches& batches, int64_t most, double nanoseconds, const Work& work) {
  const int64_t parts = batches.parts(most);
  const double of_part = nanoseconds * static_cast<double>(std::min(batches.pixels, most) * batches.channels);
  ParallelFor(batches.count * parts, of_part, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t part = i % parts, from = batches.pixels * part / parts, to = batches.pixels * (part + 1) / parts;
      work(i, batches.Pixels(i / parts, from, to));
    }
  });
}

}  // namespace hearth::native
