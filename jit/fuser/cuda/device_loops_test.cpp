#include "jit/fuser/cuda/device_loops.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "jit/fuser/cuda/cuda_source_testing.h"
#include "jit/fuser/cuda/prepare.h"
#include "jit/fuser/ir/parser.h"
#include "jit/fuser/ir/softmax_testing.h"

namespace hearth::fuser {
namespace {

// A long row is a warp's where there are enough of them for all, else a block's, with a thread for each vector; so is a
// row without a constant size. Local buffers are in registers unless each thread would have many.
TEST(DeviceLoopsTest, TheNumberAndLengthOfRowsSayWhatComputesOne) {
  const auto loop_of = [](const std::string& text) { return DeviceLoopsOf(PrepareForCuda(Parse(text))).at(0); };
  const auto softmax = [&](int64_t rows, int64_t columns) {
    return loop_of(WithConstantSizes(kSoftmax, rows, columns));
  };
  const DeviceLoop warps{.threads = 128, .threads_per_round = 32, .alignment = 16, .has_locals_in_registers = true};
  const auto block = [](uint32_t threads, uint32_t alignment, bool has_locals_in_registers) {
    return DeviceLoop{.threads = threads,
                      .threads_per_round = threads,
                      .alignment = alignment,
                      .has_locals_in_registers = has_locals_in_registers};
  };
  EXPECT_EQ(softmax(1, 128), warps);
  EXPECT_EQ(softmax(2047, 129), block(160, 4, true));
  EXPECT_EQ(softmax(2047, 512), block(128, 16, true));
  EXPECT_EQ(softmax(2048, 1024), warps);
  EXPECT_EQ(softmax(2048, 1025), block(256, 4, true));
  EXPECT_EQ(softmax(1, 16384), block(512, 16, true));
  EXPECT_EQ(softmax(1, 1 << 16), block(1024, 16, false));
  EXPECT_EQ(loop_of(kSoftmax), block(256, 1, false));
}

}  // namespace
}  // namespace hearth::fuser
