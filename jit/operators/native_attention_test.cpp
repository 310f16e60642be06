// Attention against LibTorch's own: values, sizes, strides and errors.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/stack.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "jit/operators/registry.h"

namespace hearth {
namespace {

using c10::IValue;

const std::vector<IValue> kPlainOptions = {0.0, false, IValue(), false};

std::vector<IValue> AttentionOperands(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                      const IValue& mask, std::vector<IValue> options) {
  std::vector<IValue> operands = {query, key, value, mask};
  operands.insert(operands.end(), options.begin(), options.end());
  return operands;
}

void ExpectLibTorchs(const std::vector<IValue>& operands, const std::string& what) {
  const Operator* op =
      OperatorRegistry::Global().Find(c10::Symbol::fromQualString("aten::scaled_dot_product_attention"), "");
  std::vector<const IValue*> pointers;
  for (const IValue& operand : operands) pointers.push_back(&operand);
  IValue found;
  at::Tensor expected;
  try {
    torch::jit::Stack stack(operands.begin(), operands.end());
    op->Run(stack);
    expected = stack.at(0).toTensor();
  } catch (const c10::Error& error) {
    try {
      op->native()({pointers.data(), pointers.size()}, &found);
      ADD_FAILURE() << what << ": nothing was raised";
    } catch (const c10::Error& raised) {
      EXPECT_EQ(std::string(raised.what_without_backtrace()), error.what_without_backtrace()) << what;
    }
    return;
  }
  op->native()({pointers.data(), pointers.size()}, &found);
  EXPECT_EQ(found.toTensor().sizes(), expected.sizes()) << what;
  EXPECT_EQ(found.toTensor().strides(), expected.strides()) << what;
  EXPECT_EQ(found.toTensor().scalar_type(), expected.scalar_type()) << what;
  EXPECT_TRUE(at::allclose(found.toTensor(), expected, 1e-5, 2e-6, /*equal_nan=*/true)) << what;
}

// [2, 3, tokens, width] in the orders in which models have them.
std::vector<at::Tensor> Heads(int64_t tokens, int64_t width) {
  return {at::randn({2, 3, tokens, width}),
          at::randn({2, tokens, 3, width}).transpose(1, 2),
          at::randn({2, tokens, 3, 3, width}).permute({2, 0, 3, 1, 4})[1],
          at::randn({3, 2, tokens, width}).transpose(0, 1),
          at::randn({2, 3, tokens + 4, width}).slice(2, 2, tokens + 2),
          at::randn({2, 3, tokens, 2 * width}).slice(3, width, 2 * width),
          at::randn({1, 3, 1, width}).expand({2, 3, tokens, width})};
}

TEST(AttentionTest, ResultsAreLibTorchsInItsStrides) {
  for (const auto& [queries, keys, width] :
       std::vector<std::array<int64_t, 3>>{{9, 9, 8}, {20, 37, 36}, {100, 200, 64}, {1, 30, 16}, {12, 1, 1}}) {
    const std::vector<at::Tensor> of_queries = Heads(queries, width), of_keys = Heads(keys, width);
    for (size_t i = 0; i < of_queries.size(); ++i) {
      const at::Tensor &key = of_keys[i], &value = of_keys[(i + 3) % of_keys.size()];
      const std::string what = std::to_string(queries) + " by " + std::to_string(keys) + ", order " + std::to_string(i);
      ExpectLibTorchs(AttentionOperands(of_queries[i], key, value, IValue(), kPlainOptions), what);
      ExpectLibTorchs(AttentionOperands(of_queries[i], key, value, IValue(), {0.0, true, 0.3, false}),
                      what + ", causal");
      // Matrices one after the other.
      ExpectLibTorchs(AttentionOperands(of_queries[i][1], key[1], value[1], IValue(), kPlainOptions),
                      what + ", rank 3");
    }
  }
}

TEST(AttentionTest, MasksAreThoseThatLibTorchKnows) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  const at::Tensor query = at::randn({2, 20, 3, 16}).transpose(1, 2), key = at::randn({2, 3, 37, 16});
  for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{{20, 37},
                                                                             {1, 37},
                                                                             {20, 1},
                                                                             {1, 1},
                                                                             {2, 1, 1, 37},
                                                                             {2, 3, 20, 37},
                                                                             {1, 3, 20, 37},
                                                                             {1, 1, 20, 37},
                                                                             {3, 20, 37},
                                                                             {37},
                                                                             {2, 3, 20, 36},
                                                                             {1, 2, 1, 20, 37}}) {
    const at::Tensor numbers = at::randn(sizes), hidden = at::where(numbers < -0.5, kNever, numbers);
    at::Tensor rows = numbers.clone();
    if (rows.dim() > 1) rows.select(-2, 0).fill_(kNever);
    for (const at::Tensor& mask :
         {numbers, hidden, rows, hidden.to(at::kDouble), numbers > 0, rows > kNever, numbers > 10,
          numbers.to(at::kLong), at::randn(sizes).transpose(0, -1).contiguous().transpose(0, -1)}) {
      const std::string what = c10::str(mask.sizes(), " ", mask.scalar_type());
      ExpectLibTorchs(AttentionOperands(query, key, key, mask, kPlainOptions), what);
      ExpectLibTorchs(AttentionOperands(query, key, key, mask, {0.0, true, IValue(), false}), what + ", causal");
      ExpectLibTorchs(AttentionOperands(query[1], key[1], key[1], mask, kPlainOptions), what + ", rank 3");
    }
  }
}

TEST(AttentionTest, WhatIsUnusualGoesLibTorchsWay) {
  const at::Tensor query = at::randn({2, 4, 20, 16}), key = at::randn({2, 4, 37, 16}), nan = key.clone();
  nan[0][1][3][5] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::array<at::Tensor, 3>> operands = {
      {query, key, at::randn({2, 4, 37, 24})},
      {query, key.slice(0, 0, 1), key.slice(0, 0, 1)},
      {query, key.slice(1, 0, 1), key.slice(1, 0, 1)},
      {query, key.slice(1, 0, 3), key.slice(1, 0, 3)},
      {query, key.slice(2, 0, 0), key.slice(2, 0, 0)},
      {query.slice(2, 0, 0), key, key},
      {query.slice(3, 0, 0), key.slice(3, 0, 0), key.slice(3, 0, 0)},
      {query, key, key.slice(2, 0, 5)},
      {query.to(at::kDouble), key.to(at::kDouble), key.to(at::kDouble)},
      {query, key.to(at::kDouble), key},
      {query, at::randn({2, 4, 37, 32}).slice(3, 0, 32, 2), key},
      {query[0][0], key[0][0], key[0][0]},
      {query.unsqueeze(0), key.unsqueeze(0), key.unsqueeze(0)},
      {at::randn({2, 4, 9, 600}), at::randn({2, 4, 9, 600}), at::randn({2, 4, 9, 600})},
      {query, nan, key},
      {query, key, nan},
      {query, key.mul(1e4), key},
  };
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto& [q, k, v] = operands[i];
    ExpectLibTorchs(AttentionOperands(q, k, v, IValue(), kPlainOptions), "operands " + std::to_string(i));
    ExpectLibTorchs(AttentionOperands(q, k, v, IValue(), {0.0, false, 0.25, true}),
                    "operands " + std::to_string(i) + ", heads may be repeated");
  }
  ExpectLibTorchs(AttentionOperands(query, key, key, IValue(), {1.5, false, IValue(), false}), "dropout");
  EXPECT_TRUE(at::scaled_dot_product_attention(query.clone().requires_grad_(), key, key).requires_grad());
  std::vector<IValue> recorded = AttentionOperands(query.clone().requires_grad_(), key, key, IValue(), kPlainOptions);
  std::vector<const IValue*> pointers;
  for (const IValue& operand : recorded) pointers.push_back(&operand);
  IValue found;
  OperatorRegistry::Global()
      .Find(c10::Symbol::fromQualString("aten::scaled_dot_product_attention"), "")
      ->native()({pointers.data(), pointers.size()}, &found);
  EXPECT_TRUE(found.toTensor().requires_grad());
}

// hearth::attention against the operators that it stands for.
void ExpectAttentionInSteps(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const IValue& bias,
                            const std::string& what) {
  at::Tensor scores = at::matmul(query, key.transpose(-2, -1)) * 0.3;
  if (!bias.isNone()) scores = scores + bias.toTensor();
  const at::Tensor expected = at::matmul(at::softmax(scores, -1), value);
  const Operator* op = OperatorRegistry::Global().Find(c10::Symbol::fromQualString("hearth::attention"), "");
  for (const bool tokens_first : {false, true}) {
    const std::vector<IValue> operands = {query, key, value, bias, 0.3, tokens_first};
    std::vector<const IValue*> pointers;
    for (const IValue& operand : operands) pointers.push_back(&operand);
    IValue found;
    op->native()({pointers.data(), pointers.size()}, &found);
    const at::Tensor wanted = tokens_first ? expected.transpose(-3, -2) : expected;
    ASSERT_EQ(found.toTensor().sizes(), wanted.sizes()) << what;
    EXPECT_TRUE(found.toTensor().is_contiguous()) << what;
    EXPECT_TRUE(at::allclose(found.toTensor(), wanted, 1e-5, 2e-6, /*equal_nan=*/true)) << what;
  }
}

TEST(BiasedAttentionTest, ResultsAreThoseOfProductsAndASoftmax) {
  for (const int64_t queries : {2, 9, 49, 196}) {
    const std::vector<at::Tensor> of_queries = Heads(queries, 16), of_keys = Heads(49, 16), of_values = Heads(49, 36);
    for (size_t i = 0; i < of_queries.size(); ++i) {
      const at::Tensor &query = of_queries[i], &key = of_keys[(i + 1) % of_keys.size()], &value = of_values[i];
      for (const std::vector<int64_t>& sizes : std::vector<std::vector<int64_t>>{
               {queries, 49}, {3, queries, 49}, {2, 1, 1, 49}, {1, 3, queries, 49}, {3, 1, 1}}) {
        const std::string what = c10::str(queries, " queries, order ", i, ", bias ", sizes);
        ExpectAttentionInSteps(query, key, value, at::randn(sizes), what);
      }
      const std::string what = c10::str(queries, " queries, order ", i);
      ExpectAttentionInSteps(query, key, value, IValue(), what);
      ExpectAttentionInSteps(query, key, value, at::randn({1, 1, queries, 49}).expand({2, 3, queries, 49}), what);
      ExpectAttentionInSteps(query.transpose(-1, -2).contiguous().transpose(-1, -2), key, value, IValue(), what);
      ExpectAttentionInSteps(query[1], key[1], value[1], at::randn({3, queries, 49}), what + ", rank 3");
      ExpectAttentionInSteps(query.unsqueeze(0), key.unsqueeze(0), value.unsqueeze(0), at::randn({3, queries, 49}),
                             what + ", rank 5");
      ExpectAttentionInSteps(query.to(at::kDouble), key.to(at::kDouble), value.to(at::kDouble), IValue(), what);
    }
  }
}

TEST(BiasedAttentionTest, AQueryWhoseKeysAreAllMaskedGivesNan) {
  at::Tensor mask = at::zeros({20, 37});
  mask[3].fill_(-std::numeric_limits<float>::infinity());
  mask[5].slice(0, 0, 30).fill_(-std::numeric_limits<float>::infinity());
  ExpectAttentionInSteps(at::randn({2, 3, 20, 16}), at::randn({2, 3, 37, 16}), at::randn({2, 3, 37, 16}), mask, "mask");
}

}  // namespace
}  // namespace hearth
