#include "jit/kernels/pixels.h"

#include <limits>

#include "jit/kernels/target.h"

#define HEARTH_LOOPS "jit/kernels/pixels_loops.h"
#include "jit/kernels/for_both_vectors.h"

namespace hearth::kernels {

void SumPixels(const PixelRow& pixels, int64_t channels, float* sums) {
  if (HasAvx512()) return avx512::SumAll<avx512::Itself>(avx512::PixelOfRow{pixels}, pixels.count, channels, 1, sums);
  avx2::SumAll<avx2::Itself>(avx2::PixelOfRow{pixels}, pixels.count, channels, 1, sums);
}

void SumPixels(std::span<const float* const> pixels, int64_t channels, float divisor, float* sums) {
  const auto count = static_cast<int64_t>(pixels.size());
  if (HasAvx512())
    return avx512::SumAll<avx512::Itself>(avx512::PixelOfList{pixels.data()}, count, channels, divisor, sums);
  avx2::SumAll<avx2::Itself>(avx2::PixelOfList{pixels.data()}, count, channels, divisor, sums);
}

void SumSquaresOfPixels(const PixelRow& pixels, int64_t channels, float* squares) {
  if (HasAvx512())
    return avx512::SumAll<avx512::ItsSquare>(avx512::PixelOfRow{pixels}, pixels.count, channels, 1, squares);
  avx2::SumAll<avx2::ItsSquare>(avx2::PixelOfRow{pixels}, pixels.count, channels, 1, squares);
}

void SumPixelsAndSquares(const PixelRow& pixels, int64_t channels, float* sums, float* squares) {
  (HasAvx512() ? avx512::SumAndSquare : avx2::SumAndSquare)(pixels, channels, sums, squares);
}

void LargestOfPixels(const PixelRow& pixels, int64_t channels, float* largest) {
  if (HasAvx512()) return avx512::Largest(avx512::PixelOfRow{pixels}, pixels.count, channels, largest);
  avx2::Largest(avx2::PixelOfRow{pixels}, pixels.count, channels, largest);
}

void LargestOfPixels(std::span<const float* const> pixels, int64_t channels, float* largest) {
  const auto count = static_cast<int64_t>(pixels.size());
  if (HasAvx512()) return avx512::Largest(avx512::PixelOfList{pixels.data()}, count, channels, largest);
  avx2::Largest(avx2::PixelOfList{pixels.data()}, count, channels, largest);
}

void SumExponentials(const PixelRow& pixels, int64_t channels, const float* base, float* sums) {
  (HasAvx512() ? avx512::SumExponentials : avx2::SumExponentials)(pixels, channels, base, sums);
}

void ScaleExponentials(const PixelRow& pixels, int64_t channels, const float* base, const float* factors, float* to,
                       int64_t to_stride) {
  (HasAvx512() ? avx512::ScaleExponentials : avx2::ScaleExponentials)(pixels, channels, base, factors, to, to_stride);
}

void BlendPixels(std::span<const float* const> pixels, const float* weights, int64_t channels, float* blended) {
  const auto count = static_cast<int64_t>(pixels.size());
  (HasAvx512() ? avx512::Blend : avx2::Blend)(pixels.data(), weights, count, channels, blended);
}

void ScalePixels(const PixelRow& pixels, int64_t channels, const float* factors, const float* offsets, float* to) {
  (HasAvx512() ? avx512::ScaleAll : avx2::ScaleAll)(pixels, channels, factors, offsets, to);
}

}  // namespace hearth::kernels
