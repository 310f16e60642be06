#include "jit/libraries/product.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "jit/libraries/onednn.h"

namespace hearth::libraries {
namespace {

at::Tensor RunPrepared(const Product& product, const at::Tensor& input, const at::Tensor* bias, const char* epilogue) {
  const auto prepared = product.Find(input.size(0), bias != nullptr, epilogue);
  if (prepared == nullptr) return {};
  at::Tensor result = at::empty({input.size(0), product.weight().size(0)});
  product.Run(*prepared, input, bias, result);
  return result;
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
    EXPECT_FALSE(RunPrepared(product, input, &bias, "").defined());
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
    EXPECT_FALSE(RunPrepared(product, input, &bias, "silu").defined());
    EXPECT_FALSE(RunPrepared(product, at::randn({34, 40}), &bias, "").defined());
  }
}

TEST(ProductTest, PreparesNothingWithoutAWeightOrRows) {
  Product product(at::randn({8, 4}));
  product.Prepare(3, /*has_bias=*/false, "");
  EXPECT_EQ(product.Find(3, /*has_bias=*/false, ""), nullptr);
  EXPECT_EQ(product.FormFor(-1), nullptr);
}

}  // namespace
}  // namespace hearth::libraries
