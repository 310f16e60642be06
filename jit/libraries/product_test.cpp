#include "jit/libraries/product.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "jit/libraries/onednn.h"

namespace hearth::libraries {
namespace {

at::Tensor RunPrepared(const Product& product, const at::Tensor& input, const at::Tensor* bias, const char* epilogue) {
  const bool is_ready = product.IsReady(input.size(0), bias != nullptr, epilogue);
  at::Tensor result = at::empty({input.size(0), product.weight().size(0)});
  EXPECT_EQ(product.Run(input, bias, epilogue, result), is_ready);
  return is_ready ? result : at::Tensor();
}

TEST(ProductTest, GivesWhatLibTorchDoesForTheRowsItWasPreparedFor) {
  const at::Tensor written = at::randn({96, 40});
  for (const at::Tensor& weight : {written, written.t().contiguous().t()}) {
    Product product(weight);
    const auto form = product.FormFor(33);
    ASSERT_NE(form, nullptr);
    product.Use({form, Pack(weight.t(), *form)});
    const at::Tensor bias = at::randn({96}), input = at::randn({33, 40});
    const at::Tensor expected = at::linear(input, weight, bias);
    EXPECT_EQ(RunPrepared(product, input, &bias, "").defined(), Product::TakesAnyRows());
    for (const int64_t rows : {33, 1, 100}) {
      product.Prepare(rows, /*has_bias=*/true, "");
      product.Prepare(rows, /*has_bias=*/true, "gelu");
      product.Prepare(rows, /*has_bias=*/false, "relu");
      const at::Tensor x = at::randn({rows, 40});
      EXPECT_TRUE(at::allclose(RunPrepared(product, x, &bias, ""), at::linear(x, weight, bias), 1e-4, 1e-4)) << rows;
      EXPECT_TRUE(
          at::allclose(RunPrepared(product, x, &bias, "gelu"), at::gelu(at::linear(x, weight, bias)), 1e-4, 1e-4));
      EXPECT_TRUE(at::allclose(RunPrepared(product, x, nullptr, "relu"), at::relu(at::linear(x, weight)), 1e-4, 1e-4));
    }
    EXPECT_EQ(RunPrepared(product, input, &bias, "silu").defined(), Product::TakesAnyRows());
    EXPECT_EQ(RunPrepared(product, at::randn({34, 40}), &bias, "").defined(), Product::TakesAnyRows());
  }
}

TEST(ProductTest, PreparesNothingWithoutAWeightOrRows) {
  Product product(at::randn({8, 4}));
  product.Prepare(3, /*has_bias=*/false, "");
  EXPECT_FALSE(product.IsReady(3, /*has_bias=*/false, ""));
  EXPECT_EQ(product.FormFor(-1) != nullptr, Product::TakesAnyRows());
}

}  // namespace
}  // namespace hearth::libraries
