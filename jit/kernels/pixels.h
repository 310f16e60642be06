// Sums, blends and maxima of the pixels of images whose channels lie one after the other in memory, channel by channel.
// Only where HasVectors().
#pragma once

#include <cstdint>
#include <span>

namespace hearth::kernels {

// Pixels that lie equally far apart.
struct PixelRow {
  const float* first;
  int64_t count;
  int64_t stride;  // in floats
};

// Of each channel: the sum; of a list, divided by `divisor`.
void SumPixels(const PixelRow& pixels, int64_t channels, float* sums);
void SumPixels(std::span<const float* const> pixels, int64_t channels, float divisor, float* sums);
// Of each channel: the sum of the squares.
void SumSquaresOfPixels(const PixelRow& pixels, int64_t channels, float* squares);
// Of each channel: the sum, and that of the squares.
void SumPixelsAndSquares(const PixelRow& pixels, int64_t channels, float* sums, float* squares);
// Of each channel: the largest number, or NaN if there is one. There is at least one pixel.
void LargestOfPixels(const PixelRow& pixels, int64_t channels, float* largest);
void LargestOfPixels(std::span<const float* const> pixels, int64_t channels, float* largest);
// Of each channel: the sum of the numbers, each times its pixel's weight. There is at least one pixel.
void BlendPixels(std::span<const float* const> pixels, const float* weights, int64_t channels, float* blended);
// Of each channel: the sum of the exponentials of the numbers, each less its channel's `base`. One of minus infinity,
// as the largest of numbers that are all so, counts as zero: their exponentials are zero then, and not NaN.
void SumExponentials(const PixelRow& pixels, int64_t channels, const float* base, float* sums);
// These exponentials, each times its channel's factor. `to`: pixels that lie `to_stride` floats apart.
void ScaleExponentials(const PixelRow& pixels, int64_t channels, const float* base, const float* factors, float* to,
                       int64_t to_stride);
// Each number times its channel's factor, plus its channel's offset. `to`: pixels as far apart as `pixels` are.
void ScalePixels(const PixelRow& pixels, int64_t channels, const float* factors, const float* offsets, float* to);

}  // namespace hearth::kernels
