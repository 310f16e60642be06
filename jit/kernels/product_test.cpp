#include "jit/kernels/product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "jit/kernels/target.h"

namespace hearth::kernels {
namespace {

std::vector<float> RandomNumbers(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> numbers;
  std::vector<float> result(static_cast<size_t>(count));
  for (float& number : result) number = numbers(random);
  return result;
}

struct Operands {
  Operands(int64_t rows, int64_t inner, int64_t columns, int64_t padding)
      : left(RandomNumbers(rows * (inner + padding), 1)),
        right(RandomNumbers(inner * columns, 2)),
        bias(RandomNumbers(columns, 3)),
        before(RandomNumbers(rows * (columns + padding), 4)),
        packed(static_cast<size_t>(PackedSize(inner, columns))),
        result(before) {
    PackMatrix(right.data(), columns, 1, inner, columns, packed.data());
    product = {.rows = rows,
               .inner = inner,
               .columns = columns,
               .left = left.data(),
               .left_stride = inner + padding,
               .packed = packed.data(),
               .bias = bias.data(),
               .result = result.data(),
               .result_stride = columns + padding};
  }

  // In double precision, with the sum of what was added up in size.
  std::pair<double, double> Expected(int64_t row, int64_t column) const {
    double sum = 0, size = 0;
    const auto add = [&](double term) { sum += term, size += std::abs(term); };
    for (int64_t k = 0; k < product.inner; ++k) {
      add(double(left[static_cast<size_t>(row * product.left_stride + k)]) *
          right[static_cast<size_t>(k * product.columns + column)]);
    }
    if (product.bias != nullptr) add(bias[static_cast<size_t>(column)]);
    if (product.adds) add(before[static_cast<size_t>(row * product.result_stride + column)]);
    return {sum, size};
  }

  float Found(int64_t row, int64_t column) const {
    return result[static_cast<size_t>(row * product.result_stride + column)];
  }

  void Compute(int threads, int pieces = 1) {
    const ProductParts parts(product, threads, pieces);
    for (int64_t i = 0; i < parts.count(); ++i) Multiply(product, parts[i]);
  }

  std::vector<float> left, right, bias, before, packed, result;
  Product product;
};

class ProductTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasVectors()) GTEST_SKIP() << "this processor has neither AVX-512 nor AVX2";
  }
};

TEST_F(ProductTest, EveryElementIsTheSumOfItsProducts) {
  for (const int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 29, 100}) {
    for (const int64_t inner : {1, 2, 7, 64, 201}) {
      for (const int64_t columns : {1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 130}) {
        Operands operands(rows, inner, columns, 5);
        operands.product.adds = rows % 2 == 0;
        if (columns % 3 == 0) operands.product.bias = nullptr;
        operands.Compute(1 + static_cast<int>(rows % 4));
        for (int64_t i = 0; i < rows; ++i) {
          for (int64_t j = 0; j < columns; ++j) {
            const auto [expected, size] = operands.Expected(i, j);
            ASSERT_NEAR(operands.Found(i, j), expected, 1e-6 * size)
                << rows << " x " << inner << " x " << columns << " at " << i << ", " << j;
          }
          for (int64_t j = columns; j < columns + 5; ++j)
            ASSERT_EQ(operands.Found(i, j), operands.before[static_cast<size_t>(i * (columns + 5) + j)]);
        }
      }
    }
  }
}

// Summed up in blocks of the inner size, of which the last one has the bias and the activation.
TEST_F(ProductTest, LongSumsAreTheSumsOfTheirProductsToo) {
  for (const int64_t rows : {1, 5, 31, 90}) {
    for (const int64_t columns : {9, 33, 70}) {
      Operands operands(rows, 2500, columns, 5);
      operands.product.adds = rows % 2 == 0;
      operands.product.activation = Activation::kRelu;
      operands.Compute(2);
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
          const auto [expected, size] = operands.Expected(i, j);
          ASSERT_NEAR(operands.Found(i, j), std::max(expected, 0.0), 1e-6 * size) << rows << " x " << columns;
        }
      }
    }
  }
}

TEST_F(ProductTest, RowsThatConflictInTheCacheAreCopied) {
  Operands operands(40, 1024, 48, 0);
  operands.Compute(1);
  for (int64_t i = 0; i < 40; ++i) {
    for (int64_t j = 0; j < 48; ++j) {
      const auto [expected, size] = operands.Expected(i, j);
      ASSERT_NEAR(operands.Found(i, j), expected, 1e-6 * size);
    }
  }
}

TEST_F(ProductTest, AnswersAreTheSameOnAnyNumberOfThreads) {
  for (const int64_t rows : {1, 7, 100, 500}) {
    Operands alone(rows, 300, 200, 0), shared(rows, 300, 200, 0);
    alone.Compute(1);
    shared.Compute(16, 4);
    // Tiles of other heights add up in another order only where they have few rows.
    for (size_t i = 0; i < alone.result.size(); ++i) ASSERT_NEAR(alone.result[i], shared.result[i], 1e-4);
  }
}

TEST_F(ProductTest, PartsCoverTheResultOnce) {
  for (const auto& [rows, columns, threads] :
       {std::tuple<int64_t, int64_t, int>{1, 1000, 16}, {49, 512, 8}, {1000, 1000, 3}, {1, 1, 8}, {12544, 16, 16}}) {
    Product product{.rows = rows, .inner = 512, .columns = columns};
    EXPECT_LE(ProductParts(product, threads, 1).count(), threads);
    for (const int pieces : {1, 3, 4}) {
      const ProductParts parts(product, threads, pieces);
      std::vector<int> covered(static_cast<size_t>(rows * PanelsOf(columns)));
      for (int64_t i = 0; i < parts.count(); ++i) {
        const ProductPart part = parts[i];
        for (int64_t row = part.row_begin; row < part.row_end; ++row) {
          for (int64_t panel = part.panel_begin; panel < part.panel_end; ++panel)
            ++covered[static_cast<size_t>(row * PanelsOf(columns) + panel)];
        }
      }
      EXPECT_EQ(covered, std::vector<int>(covered.size(), 1))
          << rows << " rows, " << columns << " columns, " << pieces << " pieces";
    }
  }
}

// The largest part, of which there is one for each thread, is not much more than its share.
TEST_F(ProductTest, ThreadsHaveAboutTheSameWork) {
  for (const auto& [rows, columns, threads] : {std::tuple<int64_t, int64_t, int>{197, 768, 16},
                                               {197, 2304, 16},
                                               {196, 512, 16},
                                               {3136, 64, 16},
                                               {1, 4096, 8}}) {
    const Product product{.rows = rows, .inner = 512, .columns = columns};
    const ProductParts parts(product, threads, 1);
    int64_t largest = 0;
    for (int64_t i = 0; i < parts.count(); ++i) {
      const ProductPart part = parts[i];
      largest = std::max(largest, (part.row_end - part.row_begin) * (part.panel_end - part.panel_begin));
    }
    EXPECT_LE(static_cast<double>(largest * threads), 1.1 * static_cast<double>(rows * PanelsOf(columns)))
        << rows << " rows, " << columns << " columns";
  }
}

// A thread's pieces are those of its part: about as many as are wanted, of no panel or tile of rows that others have.
TEST_F(ProductTest, PiecesOfAPartLieWithinIt) {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{196, 1280}, {3136, 64}, {289, 192}, {49, 2048}}) {
    const Product product{.rows = rows, .inner = 512, .columns = columns};
    const ProductParts parts(product, 16, 1), pieces(product, 16, 4);
    ASSERT_EQ(pieces.count() % parts.count(), 0);
    const int64_t of_part = pieces.count() / parts.count();
    EXPECT_GE(of_part, 2) << rows << " rows, " << columns << " columns";
    for (int64_t i = 0; i < pieces.count(); ++i) {
      const ProductPart part = parts[i / of_part], piece = pieces[i];
      EXPECT_GE(piece.row_begin, part.row_begin);
      EXPECT_LE(piece.row_end, part.row_end);
      EXPECT_GE(piece.panel_begin, part.panel_begin);
      EXPECT_LE(piece.panel_end, part.panel_end);
      EXPECT_LT(piece.row_begin, piece.row_end);
      EXPECT_LT(piece.panel_begin, piece.panel_end);
    }
  }
}

TEST_F(ProductTest, AnActivationFollowsTheSum) {
  const std::tuple<Activation, double (*)(double)> functions[] = {
      {Activation::kRelu, [](double x) { return std::max(x, 0.0); }},
      {Activation::kRelu6, [](double x) { return std::min(std::max(x, 0.0), 6.0); }},
      {Activation::kLeakyRelu, [](double x) { return x > 0 ? x : 0.25 * x; }},
      {Activation::kGelu, [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }},
      {Activation::kGeluTanh,
       [](double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }},
      {Activation::kSilu, [](double x) { return x / (1 + std::exp(-x)); }},
      {Activation::kSigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {Activation::kTanh, [](double x) { return std::tanh(x); }},
      {Activation::kHardSwish, [](double x) { return x * std::min(std::max(x + 3, 0.0), 6.0) / 6; }}};
  for (const auto& [activation, function] : functions) {
    Operands operands(20, 40, 45, 3);
    operands.product.activation = activation;
    operands.product.slope = 0.25f;
    operands.product.adds = true;
    operands.Compute(1);
    for (int64_t i = 0; i < 20; ++i) {
      for (int64_t j = 0; j < 45; ++j) {
        const auto [expected, size] = operands.Expected(i, j);
        ASSERT_NEAR(operands.Found(i, j), function(expected), 2e-6 * size) << static_cast<int>(activation);
      }
    }
  }
}

TEST_F(ProductTest, WhatIsNoNumberStaysWithinItsRow) {
  Operands operands(16, 33, 40, 0);
  operands.left[33 * 5 + 32] = std::numeric_limits<float>::quiet_NaN();
  operands.product.activation = Activation::kRelu;
  operands.Compute(1);
  for (int64_t i = 0; i < 16; ++i) {
    for (int64_t j = 0; j < 40; ++j) ASSERT_EQ(std::isnan(operands.Found(i, j)), i == 5);
  }
}

}  // namespace
}  // namespace hearth::kernels
