#include "jit/libraries/convolution_parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>
#include <vector>

namespace hearth::libraries {
namespace {

// Every row of every channel of every image is in one part, which has just the rows of the input that it needs.
TEST(ConvolutionPartsTest, PartsAreAllOfTheResultOnce) {
  std::mt19937 random(1);
  const auto among = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random() % static_cast<uint64_t>(most - least + 1));
  };
  size_t divided = 0, channels_divided = 0;
  for (int round = 0; round < 4000; ++round) {
    ConvolutionShape shape{.images = among(1, 3),
                           .channels = 16 * among(1, 16),
                           .height = among(1, 60),
                           .width = among(1, 60),
                           .out_channels = 16 * among(1, 40),
                           .rows = 0,
                           .columns = among(1, 60),
                           .kernel_height = among(1, 5),
                           .kernel_width = among(1, 5),
                           .stride = among(1, 3),
                           .padding = among(0, 2),
                           .dilation = among(1, 2)};
    const int64_t reach = (shape.kernel_height - 1) * shape.dilation + 1;
    if (shape.height + 2 * shape.padding < reach || shape.padding >= reach) continue;
    shape.rows = (shape.height + 2 * shape.padding - reach) / shape.stride + 1;
    const int threads = static_cast<int>(among(1, 16));
    const int64_t block = among(0, 1) * 64;
    const std::vector<ConvolutionPart> parts = PartsOf(shape, threads, block);
    if (parts.empty()) continue;
    std::map<std::tuple<int64_t, int64_t, int64_t>, int> times;  // by image, row and channel
    for (const ConvolutionPart& part : parts) {
      EXPECT_EQ(part.input_row, std::max<int64_t>(part.row * shape.stride - shape.padding, 0));
      EXPECT_GT(part.input_rows, 0);
      EXPECT_LE(part.input_row + part.input_rows, shape.height);
      EXPECT_EQ((part.input_rows + part.padding_above + part.padding_below - reach) / shape.stride + 1, part.rows);
      EXPECT_TRUE(part.padding_above == 0 || part.input_row == 0);
      EXPECT_TRUE(part.padding_below == 0 || part.input_row + part.input_rows == shape.height);
      EXPECT_TRUE(block == 0 ? part.channels == shape.out_channels : part.channel % block == 0);
      for (int64_t row = part.row; row < part.row + part.rows; ++row) {
        for (int64_t channel = part.channel; channel < part.channel + part.channels; channel += 16)
          ++times[{part.image, row, channel}];
      }
      channels_divided += part.channel != 0 ? 1 : 0;
    }
    EXPECT_EQ(times.size(), static_cast<size_t>(shape.images * shape.rows * (shape.out_channels / 16)));
    EXPECT_TRUE(std::ranges::all_of(times, [](const auto& each) { return each.second == 1; }));
    ++divided;
  }
  EXPECT_GT(divided, 300u);
  EXPECT_GT(channels_divided, 100u);
}

TEST(ConvolutionPartsTest, LittleWorkAndMuchOfItIsNotDivided) {
  ConvolutionShape shape{.images = 1,
                         .channels = 32,
                         .height = 40,
                         .width = 40,
                         .out_channels = 32,
                         .rows = 40,
                         .columns = 40,
                         .kernel_height = 3,
                         .kernel_width = 3,
                         .stride = 1,
                         .padding = 1,
                         .dilation = 1};
  EXPECT_GT(PartsOf(shape, 16, 64).size(), 8u);
  EXPECT_TRUE(PartsOf(shape, 1, 64).empty());
  shape.images = 1000;
  EXPECT_TRUE(PartsOf(shape, 16, 64).empty());
  shape.images = 1;
  shape.rows = shape.columns = 1;
  EXPECT_TRUE(PartsOf(shape, 16, 64).empty());
}

}  // namespace
}  // namespace hearth::libraries
