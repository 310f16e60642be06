#include "jit/kernels/transposition.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "jit/kernels/target.h"

namespace hearth::kernels {
namespace {

TEST(TranspositionTest, RowsBecomeColumnsAndNothingElseIsWritten) {
  if (!HasVectors()) GTEST_SKIP() << "this processor has neither AVX-512 nor AVX2";
  for (const int64_t rows : {1, 7, 8, 9, 16, 33}) {
    for (int64_t columns = 1; columns <= 35; ++columns) {
      const int64_t from_stride = rows + 3, to_stride = columns + 2;
      std::vector<float> from(static_cast<size_t>(columns * from_stride)),
          to(static_cast<size_t>(rows * to_stride), -1);
      for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
      std::vector<float> expected = to;
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j)
          expected[static_cast<size_t>(i * to_stride + j)] = from[static_cast<size_t>(j * from_stride + i)];
      }
      CopyTransposed(from.data(), from_stride, to.data(), to_stride, rows, columns);
      EXPECT_EQ(to, expected) << rows << " by " << columns;
    }
  }
}

}  // namespace
}  // namespace hearth::kernels
