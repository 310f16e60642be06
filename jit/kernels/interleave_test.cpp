#include "jit/kernels/interleave.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace hearth::kernels {
namespace {

// The element at `i` of row `row` of source `source`; different for all of them.
float ElementAt(size_t source, int64_t row, int64_t i) {
  return static_cast<float>(static_cast<int64_t>(source) * 10000 + row * 1000 + i);
}

TEST(InterleaveTest, ElementsOfTheSourcesComeInTurnsAndNothingElseIsWritten) {
  constexpr int64_t kRows = 3, kPadding = 5;
  for (size_t count = 1; count <= 4; ++count) {
    for (int64_t width = 1; width <= 70; ++width) {
      std::vector<std::vector<float>> numbers(count);
      std::vector<RowSource> sources;
      for (size_t s = 0; s < count; ++s) {
        const int64_t stride = width + static_cast<int64_t>(s);
        numbers[s].assign(static_cast<size_t>(kRows * stride), -2);
        for (int64_t row = 0; row < kRows; ++row) {
          for (int64_t i = 0; i < width; ++i) numbers[s][static_cast<size_t>(row * stride + i)] = ElementAt(s, row, i);
        }
        sources.push_back({numbers[s].data(), stride});
      }
      const int64_t all = width * static_cast<int64_t>(count), stride = all + kPadding;
      std::vector<float> result(static_cast<size_t>(kRows * stride), -1), expected = result;
      Interleave({sources, width, result.data(), stride}, 1, kRows);
      for (int64_t row = 1; row < kRows; ++row) {
        for (int64_t i = 0; i < all; ++i) {
          const size_t source = static_cast<size_t>(i) % count;
          expected[static_cast<size_t>(row * stride + i)] = ElementAt(source, row, i / static_cast<int64_t>(count));
        }
      }
      EXPECT_EQ(result, expected) << count << " sources of " << width;
    }
  }
}

}  // namespace
}  // namespace hearth::kernels
