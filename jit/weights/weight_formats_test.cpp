#include "jit/weights/weight_formats.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <stdexcept>

#include "jit/libraries/product.h"
#include "jit/weights/derived_constants.h"

namespace hearth {
namespace {

constexpr int kThreads = 1;

// What is tried is known to the whole process: each test has sizes of its own.
class WeightFormatsTest : public ::testing::Test {
 protected:
  bool Tries(std::optional<int64_t> rows, int64_t inner, int64_t columns) {
    const int before = rests_;
    FastestWeightFormat(rows, inner, columns, kThreads, derived_);
    return rests_ > before;
  }

  DerivedConstantTable table_;
  int rests_ = 0;
  DerivedConstants derived_{table_, [&] { ++rests_; }};
};

TEST_F(WeightFormatsTest, ATransposedWeightHasTheSameNumbersWithItsColumnsTogether) {
  const at::Tensor weight = at::arange(12, at::kFloat).view({3, 4});
  const at::Tensor transposed = TransposedWeight(weight);
  EXPECT_TRUE(at::equal(transposed, weight));
  EXPECT_EQ(transposed.strides(), (at::IntArrayRef{1, 3}));
}

TEST_F(WeightFormatsTest, WhatWasTriedIsKnown) {
  EXPECT_TRUE(Tries(5, 33, 34));
  EXPECT_FALSE(Tries(5, 33, 34));
  EXPECT_EQ(FastestWeightFormat(5, 33, 34, kThreads, derived_), FastestWeightFormat(5, 33, 34, kThreads, derived_));
  EXPECT_FALSE(Tries(8, 33, 34)) << "the same power of two is above 5 and 8";
  EXPECT_TRUE(Tries(9, 33, 34));
  EXPECT_TRUE(Tries(5, 34, 33));
}

TEST_F(WeightFormatsTest, RowsNobodyKnowsAreTriedForThemselves) {
  EXPECT_TRUE(Tries({}, 35, 36));
  EXPECT_FALSE(Tries({}, 35, 36));
  EXPECT_TRUE(Tries(16, 35, 36));
}

TEST_F(WeightFormatsTest, HoweverManyRowsAProductIsNoLargerThanWhatIsTriedInAMoment) {
  EXPECT_TRUE(Tries(std::numeric_limits<int64_t>::max(), 1500, 1500));
  EXPECT_FALSE(Tries(std::numeric_limits<int64_t>::max() - 1, 1500, 1500));
  EXPECT_FALSE(Tries(1000, 1500, 1500));
}

TEST_F(WeightFormatsTest, OfAWeightThatMemoryMayNotHoldTwiceAPartIsTried) {
  constexpr int64_t kHuge = int64_t{1} << 40;
  EXPECT_NO_THROW(FastestWeightFormat(kHuge, kHuge, kHuge, kThreads, derived_));
  EXPECT_TRUE(Tries(kHuge, 2048, kHuge));
  EXPECT_FALSE(Tries(kHuge, 2048, kHuge - 1));
}

TEST_F(WeightFormatsTest, WhatSeveralThreadsShareIsPackedUntried) {
  if (!libraries::Product::TakesAnyRows()) GTEST_SKIP() << "hearth's own kernels are not for this processor";
  EXPECT_EQ(FastestWeightFormat(200, 600, 601, /*threads=*/4, derived_), WeightFormat::kPacked);
  EXPECT_EQ(FastestWeightFormat({}, 600, 601, /*threads=*/4, derived_), WeightFormat::kPacked);
  EXPECT_EQ(rests_, 0);
  EXPECT_TRUE(Tries(200, 600, 601)) << "for one thread";
}

TEST_F(WeightFormatsTest, NothingIsTriedForProductsOfNothing) {
  EXPECT_FALSE(Tries(0, 37, 38));
  EXPECT_FALSE(Tries(4, 0, 38));
  EXPECT_FALSE(Tries(4, 37, 0));
  EXPECT_EQ(FastestWeightFormat(0, 37, 38, kThreads, derived_), WeightFormat::kAsItIs);
}

TEST_F(WeightFormatsTest, WhatRestsMayEndItAndItIsTriedAnotherTime) {
  const DerivedConstants cancelled(table_, [] { throw std::runtime_error("cancelled"); });
  EXPECT_THROW(FastestWeightFormat(4, 39, 40, kThreads, cancelled), std::runtime_error);
  EXPECT_TRUE(Tries(4, 39, 40));
}

}  // namespace
}  // namespace hearth
