#include "jit/kernels/strided_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <tuple>
#include <vector>

#include "jit/kernels/target.h"

namespace hearth::kernels {
namespace {

// Where the numbers of a matrix lie.
enum class Lie { kRows, kColumns, kApart };

// A matrix of random numbers among others.
struct Matrix {
  Matrix(int64_t rows, int64_t columns, Lie lie, uint32_t seed) {
    constexpr int64_t kMore = 3;
    if (lie == Lie::kRows) view = {nullptr, columns + kMore, 1};
    if (lie == Lie::kColumns) view = {nullptr, 1, rows + kMore};
    if (lie == Lie::kApart) view = {nullptr, 2 * columns + kMore, 2};
    numbers.resize(static_cast<size_t>(rows * view.row_stride + columns * view.column_stride + 1));
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (float& number : numbers) number = normal(random);
    view.data = numbers.data();
  }
  float At(int64_t i, int64_t j) const {
    return numbers[static_cast<size_t>(i * view.row_stride + j * view.column_stride)];
  }
  std::vector<float> numbers;
  StridedMatrix view;
};

class StridedProductTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasVectors()) GTEST_SKIP() << "this processor has neither AVX-512 nor AVX2";
  }
};

// In parts for so many threads; what lies between the result's rows stays.
void ExpectProduct(int64_t rows, int64_t inner, int64_t columns, Lie of_left, Lie of_right, int threads) {
  const Matrix left(rows, inner, of_left, 1), right(inner, columns, of_right, 2);
  const int64_t apart = columns + 5;
  std::vector<float> result(static_cast<size_t>(rows * apart), 7.0f);
  const StridedProduct product = {.rows = rows,
                                  .inner = inner,
                                  .columns = columns,
                                  .left = left.view,
                                  .right = right.view,
                                  .result = result.data(),
                                  .result_stride = apart};
  const StridedProductParts parts(product, 1, threads);
  for (int64_t i = 0; i < parts.count(); ++i) Multiply(product, parts[i]);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < apart; ++j) {
      const float found = result[static_cast<size_t>(i * apart + j)];
      if (j >= columns) {
        ASSERT_EQ(found, 7.0f);
        continue;
      }
      double sum = 0, size = 0;
      for (int64_t k = 0; k < inner; ++k) {
        const double term = double(left.At(i, k)) * right.At(k, j);
        sum += term;
        size += std::abs(term);
      }
      ASSERT_NEAR(found, sum, 1e-6 * size) << rows << " x " << inner << " x " << columns << " at " << i << ", " << j;
    }
  }
}

TEST_F(StridedProductTest, OperandsMayLieAnyWay) {
  for (const Lie left : {Lie::kRows, Lie::kColumns, Lie::kApart}) {
    for (const Lie right : {Lie::kRows, Lie::kColumns, Lie::kApart}) {
      for (const int64_t rows : {1, 4, 15, 60}) {
        for (const int64_t inner : {0, 1, 17, 48}) {
          for (const int64_t columns : {1, 16, 31, 70}) ExpectProduct(rows, inner, columns, left, right, 3);
        }
      }
    }
  }
}

// More numbers than are packed at a time, along each side.
TEST_F(StridedProductTest, LargeOnesAreMultipliedInBlocks) {
  for (const Lie lie : {Lie::kRows, Lie::kColumns}) {
    ExpectProduct(200, 1500, 40, lie, lie, 1);
    ExpectProduct(20, 1100, 600, lie, lie, 1);
    ExpectProduct(3000, 30, 20, lie, lie, 2);
  }
}

// In blocks of rows, of columns and of the inner size alike, and in parts.
TEST_F(StridedProductTest, ABiasOfRowsAndAnActivationComeLast) {
  for (const auto& [rows, inner, columns] :
       {std::tuple<int64_t, int64_t, int64_t>{20, 7, 40}, {1, 3, 5}, {33, 1500, 20}, {200, 40, 70}}) {
    const Matrix left(rows, inner, Lie::kRows, 1), right(inner, columns, Lie::kRows, 2), bias(rows, 1, Lie::kRows, 3);
    std::vector<float> bias_of_rows, bare(static_cast<size_t>(rows * columns)), result = bare;
    for (int64_t i = 0; i < rows; ++i) bias_of_rows.push_back(bias.At(i, 0));
    StridedProduct product = {.rows = rows,
                              .inner = inner,
                              .columns = columns,
                              .left = left.view,
                              .right = right.view,
                              .result = bare.data(),
                              .result_stride = columns};
    const StridedProductParts parts(product, 1, 3);
    for (int64_t i = 0; i < parts.count(); ++i) Multiply(product, parts[i]);
    product.result = result.data();
    product.row_bias = bias_of_rows.data();
    product.activation = Activation::kLeakyRelu;
    product.slope = 0.5f;
    for (int64_t i = 0; i < parts.count(); ++i) Multiply(product, parts[i]);
    for (int64_t i = 0; i < rows * columns; ++i) {
      const float sum = bare[static_cast<size_t>(i)] + bias_of_rows[static_cast<size_t>(i / columns)];
      ASSERT_EQ(result[static_cast<size_t>(i)], sum > 0 ? sum : sum * 0.5f) << rows << " rows, number " << i;
    }
  }
}

TEST_F(StridedProductTest, PartsCoverEachResultOnceAndAreAlike) {
  using Case = std::tuple<int64_t, int64_t, int64_t, int>;
  for (const auto& [batch, rows, columns, threads] :
       {Case{4, 196, 196, 16}, Case{1, 500, 1000, 16}, Case{40, 3, 7, 4}, Case{3, 4, 40000, 8}, Case{1, 1, 1, 8}}) {
    const StridedProduct product = {
        .rows = rows, .inner = 48, .columns = columns, .left = {nullptr, 48, 1}, .right = {nullptr, columns, 1}};
    const StridedProductParts parts(product, batch, threads);
    std::vector<int> covered(static_cast<size_t>(batch * rows * PanelsOf(columns)));
    int64_t largest = 0;
    for (int64_t i = 0; i < parts.count(); ++i) {
      const ProductPart part = parts[i];
      largest = std::max(largest, (part.row_end - part.row_begin) * (part.panel_end - part.panel_begin));
      for (int64_t row = part.row_begin; row < part.row_end; ++row) {
        for (int64_t panel = part.panel_begin; panel < part.panel_end; ++panel)
          ++covered[static_cast<size_t>((parts.ProductOf(i) * rows + row) * PanelsOf(columns) + panel)];
      }
    }
    EXPECT_EQ(covered, std::vector<int>(covered.size(), 1)) << batch << " of " << rows << " by " << columns;
    if (batch * rows * PanelsOf(columns) >= 16 * threads) {
      const int64_t turns = DivideUp(parts.count(), threads);
      EXPECT_LE(static_cast<double>(largest * turns * threads), 1.35 * static_cast<double>(covered.size()));
    }
  }
}

TEST_F(StridedProductTest, NothingHasNoParts) {
  EXPECT_EQ(StridedProductParts({.rows = 0, .inner = 3, .columns = 4}, 2, 4).count(), 0);
  EXPECT_EQ(StridedProductParts({.rows = 2, .inner = 3, .columns = 0}, 2, 4).count(), 0);
  EXPECT_EQ(StridedProductParts({.rows = 2, .inner = 3, .columns = 4}, 0, 4).count(), 0);
}

}  // namespace
}  // namespace hearth::kernels
