// The operators of plans against what LibTorch gives for the operators that they stand for.
#include "jit/operators/plan_operators.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/stack.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "jit/kernels/target.h"
#include "jit/libraries/convolution.h"
#include "jit/libraries/packed_weight.h"
#include "jit/libraries/product.h"
#include "jit/libraries/recurrence.h"
#include "jit/operators/native_testing.h"
#include "jit/operators/registry.h"

namespace hearth {
namespace {

using c10::IValue;

at::Tensor CallBoxed(const char* name, torch::jit::Stack stack) {
  OperatorRegistry::Global().Find(c10::Symbol::fromQualString(name), "")->Run(stack);
  return stack.at(0).toTensor();
}

std::vector<at::Tensor> Inputs() {
  return {at::randn({7}),
          at::randn({1, 7}),
          at::randn({5, 7}),
          at::randn({2, 3, 7}),
          at::randn({7, 5}).t(),
          at::randn({2, 5, 3, 7}).transpose(1, 2),
          at::randn({0, 7}),
          at::randn({4, 14}).slice(1, 0, 7),
          at::full({2, 7}, std::numeric_limits<float>::quiet_NaN()),
          at::randn({2, 7}, at::kDouble),
          at::randn({2, 6})};
}

TEST(LinearTest, ResultsAreLibTorchsToTheLastBit) {
  for (const at::Tensor& weight : {at::randn({4, 7}), at::randn({7, 4}).t(), at::randn({1, 7}), at::randn({7})}) {
    for (const IValue& bias : {IValue(), IValue(at::randn({weight.size(0)})), IValue(at::randn({4}, at::kDouble))}) {
      for (const at::Tensor& input : Inputs()) {
        at::Tensor expected;
        try {
          expected = CallBoxed("aten::linear", {input, weight, bias});
        } catch (const c10::Error&) {
          EXPECT_ANY_THROW(CallNative("aten::linear", {input, weight, bias}));
          continue;
        }
        const at::Tensor result = CallNative("aten::linear", {input, weight, bias});
        EXPECT_EQ(result.sizes(), expected.sizes());
        EXPECT_EQ(result.strides(), expected.strides());
        EXPECT_TRUE(at::allclose(result, expected, 0, 0, /*equal_nan=*/true)) << input << weight << result << expected;
      }
    }
  }
}

TEST(LinearTest, AnActivationComesAfterIt) {
  const at::Tensor weight = at::randn({4, 7}), bias = at::randn({4});
  const std::vector<std::pair<std::string, at::Tensor (*)(const at::Tensor&)>> activations = {
      {"relu", [](const at::Tensor& x) { return at::relu(x); }},
      {"gelu", [](const at::Tensor& x) { return at::gelu(x); }},
      {"gelu_tanh", [](const at::Tensor& x) { return at::gelu(x, "tanh"); }},
      {"silu", [](const at::Tensor& x) { return at::silu(x); }},
      {"sigmoid", [](const at::Tensor& x) { return at::sigmoid(x); }},
      {"tanh", [](const at::Tensor& x) { return at::tanh(x); }},
  };
  std::vector<at::Tensor> inputs = Inputs();
  inputs.push_back(at::randn({2000, 7}));
  for (const at::Tensor& input : inputs) {
    if (input.scalar_type() != at::kFloat || input.size(-1) != 7) continue;
    for (const auto& [name, activation] : activations) {
      const at::Tensor expected = activation(at::linear(input, weight, bias));
      const at::Tensor result = CallNative("hearth::linear", {input, weight, IValue(), bias, name});
      EXPECT_TRUE(at::allclose(result, expected, 0, 0, /*equal_nan=*/true)) << name << input;
      EXPECT_EQ(result.strides(), expected.strides());
      for (const at::Tensor& memory :
           {at::randn(expected.sizes()), at::randn({3}), at::ones(expected.sizes(), at::kLong)}) {
        const at::Tensor into = CallNative("hearth::linear.into", {input, weight, IValue(), bias, name, memory});
        EXPECT_TRUE(at::allclose(into, expected, 0, 0, /*equal_nan=*/true)) << name << input;
        EXPECT_EQ(into.strides(), expected.strides());
      }
    }
  }
  const at::Tensor memory = at::randn({2, 4});
  EXPECT_TRUE(
      CallNative("hearth::linear.into", {at::randn({2, 7}), weight, IValue(), bias, "relu", memory}).is_same(memory));
  EXPECT_ANY_THROW(CallNative("hearth::linear", {at::randn({2, 7}), weight, IValue(), bias, "none such"}));
}

TEST(LinearTest, TransposedInputsAreMultipliedFromTheLeft) {
  const at::Tensor weight = at::randn({4, 7}), bias = at::randn({4});
  const std::vector<at::Tensor> inputs = {at::randn({7, 5}), at::randn({1, 7, 40}), at::randn({3, 7, 33}),
                                          at::randn({3, 5, 7}).transpose(1, 2), at::randn({2, 3, 9, 6}).slice(2, 1, 8),
                                          at::randn({2, 7, 0}),
                                          // Enough for several threads.
                                          at::randn({2, 7, 50000}), at::randn({2, 7, 5}, at::kDouble)};
  for (const at::Tensor& input : inputs) {
    for (const bool has_bias : {true, false}) {
      for (const std::string epilogue : {"", "gelu", "leaky_relu=0.1", "relu hardswish"}) {
        const at::Tensor w = weight.to(input.scalar_type());
        const IValue b = has_bias ? IValue(bias.to(input.scalar_type())) : IValue();
        at::Tensor expected = at::linear(input.transpose(-1, -2), w, has_bias ? b.toTensor() : at::Tensor());
        libraries::ApplyEpilogue(epilogue, expected);
        expected = expected.transpose(-1, -2);
        for (const at::Tensor& memory : {at::randn(expected.sizes()), at::randn({3})}) {
          const at::Tensor result = CallNative("hearth::left_linear", {input, w, b, epilogue});
          const at::Tensor into = CallNative("hearth::left_linear.into", {input, w, b, epilogue, memory});
          EXPECT_TRUE(at::allclose(result, expected, 1e-5, 1e-5)) << input.sizes() << epilogue;
          EXPECT_TRUE(at::equal(into, result)) << input.sizes() << epilogue;
          EXPECT_TRUE(result.is_contiguous());
        }
      }
    }
  }
  const at::Tensor memory = at::randn({3, 4, 6});
  const at::Tensor into = CallNative("hearth::left_linear.into", {at::randn({3, 7, 6}), weight, bias, "", memory});
  EXPECT_EQ(into.is_same(memory), kernels::HasVectors());
  EXPECT_ANY_THROW(CallNative("hearth::left_linear", {at::randn({3, 6, 7}), weight, bias, ""}));
  EXPECT_ANY_THROW(CallNative("hearth::left_linear", {at::randn({7}), weight, bias, ""}));
  EXPECT_ANY_THROW(CallNative("hearth::left_linear", {at::randn({7, 2}), weight, bias, "none such"}));
}

// Matrices and batches of them: whole, transposed, parts of others, with sizes of 1.
std::vector<at::Tensor> Matrices() {
  return {at::randn({3, 4}),
          at::randn({4, 3}).t(),
          at::randn({3, 8}).slice(1, 2, 6),
          at::randn({3, 8}).slice(1, 0, 8, 2),
          at::randn({4, 4}),
          at::randn({4, 1}),
          at::randn({1, 4}),
          at::randn({1, 1}),
          at::randn({4}),
          at::randn({2, 3, 4}),
          at::randn({3, 2, 4}).transpose(0, 1),
          at::randn({2, 4, 3}),
          at::randn({2, 4, 3}).transpose(1, 2),
          at::randn({1, 4, 4}).expand({2, 4, 4}),
          at::randn({2, 5, 3, 4}).transpose(1, 2),
          at::randn({2, 5, 3, 4}).permute({0, 2, 3, 1}),
          at::randn({2, 3, 5, 4}),
          at::randn({2, 3, 1, 5}),
          at::randn({0, 4}),
          at::randn({2, 4, 0}),
          at::randn({3, 4}, at::kDouble)};
}

TEST(MatmulTest, ResultsAreLibTorchsWhereverTheyShallBe) {
  size_t into_memory = 0;
  for (const at::Tensor& a : Matrices()) {
    for (const at::Tensor& b : Matrices()) {
      at::Tensor expected;
      try {
        expected = at::matmul(a, b);
      } catch (const c10::Error&) {
        EXPECT_ANY_THROW(CallNative("hearth::matmul.into", {a, b, at::zeros({3, 4})}));
        continue;
      }
      for (const at::Tensor& memory : {at::zeros(expected.sizes()), at::zeros({7}), at::zeros({3, 4}, at::kDouble)}) {
        const at::Tensor result = CallNative("hearth::matmul.into", {a, b, memory});
        into_memory += result.is_same(memory);
        EXPECT_EQ(result.sizes(), expected.sizes());
        EXPECT_EQ(result.scalar_type(), expected.scalar_type());
        EXPECT_TRUE(at::allclose(result, expected, 1e-5, 1e-6)) << a << b << result << expected;
      }
    }
  }
  EXPECT_GE(into_memory, 25u);
}

TEST(LinearTest, SeveralOfOneInputAreAsEachAlone) {
  const at::Tensor weight = at::randn({9, 7});
  const std::vector<int64_t> outputs = {4, 1, 3, 1};
  for (const at::Tensor& input : Inputs()) {
    if (input.scalar_type() != at::kFloat || input.size(-1) != 7) continue;
    for (const bool has_bias : {false, true}) {
      const IValue bias = has_bias ? IValue(at::randn({9})) : IValue();
      const IValue list = RunByName("hearth::linears", {input, weight, bias, outputs});
      int64_t begin = 0;
      for (size_t i = 0; i < outputs.size(); begin += outputs[i++]) {
        std::optional<at::Tensor> part;
        if (has_bias) part = bias.toTensor().narrow(0, begin, outputs[i]);
        const at::Tensor expected = at::linear(input, weight.narrow(0, begin, outputs[i]), part);
        const at::Tensor result = list.toListRef()[i].toTensor();
        EXPECT_TRUE(at::allclose(result, expected, 1e-5, 1e-6, /*equal_nan=*/true)) << input;
        EXPECT_EQ(result.sizes(), expected.sizes());
        EXPECT_EQ(result.strides(), expected.strides());
      }
    }
  }
}

TEST(MatmulTest, TakesBatchesAsTheyLie) {
  const at::Tensor x = at::randn({2, 5, 3, 4, 6}), y = at::randn({2, 4, 5, 6});
  const at::Tensor heads = x.permute({2, 0, 3, 1, 4});
  const std::vector<std::pair<at::Tensor, at::Tensor>> pairs = {
      {heads[0], heads[1].transpose(-1, -2)},
      {heads[2].slice(3, 1, 5), y.slice(3, 0, 4).transpose(-1, -2)},
      {at::randn({40, 9, 8}), at::randn({40, 8, 7})},
      {at::randn({2, 3, 0}), at::randn({2, 0, 4})},
      {at::randn({1, 3, 4}), at::randn({6, 4, 2})},
      // Enough for several threads.
      {at::randn({4, 300, 64}), at::randn({4, 500, 64}).transpose(1, 2)},
      {at::randn({2, 64, 300}).transpose(1, 2), at::randn({2, 64, 1000}).slice(2, 0, 901)},
      {at::randn({1, 64}), at::randn({64, 40000})},
      {at::randn({40000, 64}), at::randn({64, 1})},
      {at::randn({3, 4}).to(at::kDouble), at::randn({4, 2}).to(at::kDouble)},
      {at::randn({5}), at::randn({5})}};
  for (const auto& [a, b] : pairs) {
    const at::Tensor result = CallNative("hearth::matmul", {a, b}), expected = at::matmul(a, b);
    EXPECT_TRUE(at::allclose(result, expected, 1e-5, 1e-5)) << a.sizes() << b.sizes();
    EXPECT_EQ(result.sizes(), expected.sizes());
    EXPECT_EQ(result.strides(), expected.strides());
  }
  EXPECT_ANY_THROW(CallNative("hearth::matmul", {at::randn({2, 3, 4}), at::randn({2, 5, 4})}));
}

TEST(MatmulTest, ReadsDenormalsAsZeroAndLeavesTheThreadAsItWas) {
  const at::Tensor tiny = at::full({2, 3, 4}, 1e-40), large = at::full({2, 4, 5}, 1e30);
  EXPECT_TRUE(at::equal(CallNative("hearth::matmul", {tiny, large}), at::zeros({2, 3, 5})));
  EXPECT_GT((at::full({1}, 1e-40) * 2).item<float>(), 0);
}

IValue PlannedFor(const at::Tensor& weight, int64_t rows, const std::vector<const char*>& epilogues) {
  auto product = c10::make_intrusive<libraries::Product>(weight);
  const auto form = product->FormFor(rows);
  if (form == nullptr) return {};
  product->Use({form, libraries::Pack(weight.t(), *form)});
  for (const char* epilogue : epilogues) product->Prepare(rows, /*has_bias=*/true, epilogue);
  return libraries::Product::Wrap(std::move(product));
}

TEST(LinearTest, AProductIsThePlannedOneForItsRowsAndBlasesForOthers) {
  const std::vector<const char*> epilogues = {"", "relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh", "hardswish"};
  const at::Tensor bias = at::randn({512});
  for (const at::Tensor& weight : {at::randn({512, 256}), at::randn({256, 512}).t()}) {
    const IValue planned = PlannedFor(weight, 256, epilogues);
    ASSERT_FALSE(planned.isNone());
    for (const at::Tensor& input : {at::randn({2, 128, 256}), at::randn({3, 256})}) {
      const at::Tensor plain = at::linear(input, weight, bias);
      const auto call = [&](const at::Tensor& x, const char* epilogue) {
        return CallNative("hearth::linear", {x, weight, planned, bias, epilogue});
      };
      EXPECT_TRUE(at::allclose(call(input, ""), plain, 1e-4, 1e-4));
      EXPECT_TRUE(at::allclose(call(input, "relu"), at::relu(plain), 1e-4, 1e-4));
      EXPECT_TRUE(at::allclose(call(input, "gelu"), at::gelu(plain), 1e-4, 1e-4));
      EXPECT_TRUE(at::allclose(call(input, "gelu_tanh"), at::gelu(plain, "tanh"), 1e-3, 1e-3));
      EXPECT_TRUE(at::allclose(call(input, "silu"), at::silu(plain), 1e-4, 1e-4));
      EXPECT_TRUE(at::allclose(call(input, "hardswish"), at::hardswish(plain), 1e-4, 1e-4));
      EXPECT_EQ(call(input, "silu").strides(), plain.strides());
      const at::Tensor memory = at::empty(plain.sizes());
      EXPECT_TRUE(CallNative("hearth::linear.into", {input, weight, planned, bias, "relu", memory}).is_same(memory));
      EXPECT_TRUE(at::allclose(memory, at::relu(plain), 1e-4, 1e-4));
      const at::Tensor nan = at::full_like(input, std::numeric_limits<float>::quiet_NaN());
      for (const char* epilogue : epilogues) {
        EXPECT_TRUE(call(nan, epilogue).isnan().all().item<bool>()) << epilogue;
      }
    }
  }
  const IValue other = PlannedFor(at::randn({512, 128}), 256, {""});
  EXPECT_ANY_THROW(CallNative("hearth::linear", {at::randn({256, 256}), at::randn({512, 256}), other, bias, ""}));
}

// What the call itself gives is libraries/convolution_test.cpp's matter.
TEST(ConvolutionTest, CallsWhatWasPlanned) {
  const at::Tensor weight = at::randn({8, 3, 3, 3}), bias = at::randn({8}), input = at::randn({2, 3, 9, 7});
  const IValue planned = libraries::Convolution::Wrap(
      c10::make_intrusive<libraries::Convolution>(weight, libraries::ConvolutionSettings{{1, 1}, {1, 1}, {1, 1}, 1}));
  const at::Tensor plain = at::conv2d(input, weight, bias, 1, 1);
  EXPECT_TRUE(
      at::allclose(CallNative("hearth::convolution", {input, planned, bias, "silu"}), at::silu(plain), 1e-4, 1e-4));
  EXPECT_TRUE(at::allclose(CallNative("hearth::convolution", {input, planned, IValue(), ""}),
                           at::conv2d(input, weight, {}, 1, 1), 1e-4, 1e-4));
  const at::Tensor residual = at::randn(plain.sizes()), before = residual.clone();
  const at::Tensor sum = CallNative("hearth::add_convolution", {residual, input, planned, bias, "add relu"});
  EXPECT_TRUE(at::allclose(sum, at::relu(plain + residual), 1e-4, 1e-4));
  EXPECT_TRUE(at::equal(residual, before));
  const at::Tensor onto = residual.clone(at::MemoryFormat::ChannelsLast);
  EXPECT_TRUE(CallNative("hearth::add_convolution_", {onto, input, planned, bias, "add"}).is_same(onto));
  EXPECT_TRUE(at::allclose(onto, plain + residual, 1e-4, 1e-4));
}

TEST(ConvolutionTest, CallsWhatWasPlannedOfVolumes) {
  const at::Tensor weight = at::randn({8, 3, 1, 3, 3}), bias = at::randn({8}), input = at::randn({2, 3, 4, 9, 7});
  const IValue planned = libraries::Convolution::Wrap(c10::make_intrusive<libraries::Convolution>(
      weight, libraries::ConvolutionSettings{{0, 1, 1}, {1, 1, 1}, {1, 1, 1}, 1}));
  const at::Tensor plain = at::conv3d(input, weight, bias, 1, {0, 1, 1});
  EXPECT_TRUE(
      at::allclose(CallNative("hearth::convolution", {input, planned, bias, "silu"}), at::silu(plain), 1e-4, 1e-4));
  const at::Tensor residual = at::randn(plain.sizes()), before = residual.clone();
  const at::Tensor sum = CallNative("hearth::add_convolution", {residual, input, planned, bias, "add relu"});
  EXPECT_TRUE(at::allclose(sum, at::relu(plain + residual), 1e-4, 1e-4));
  EXPECT_TRUE(sum.is_contiguous(at::MemoryFormat::ChannelsLast3d));
  EXPECT_TRUE(at::equal(residual, before));
}

TEST(ConvolutionTest, RaisesForWhatThePlanWasNotMadeFor) {
  const IValue planned = libraries::Convolution::Wrap(c10::make_intrusive<libraries::Convolution>(
      at::randn({8, 3, 3, 3}), libraries::ConvolutionSettings{{1, 1}, {1, 1}, {1, 1}, 1}));
  const at::Tensor input = at::randn({1, 3, 8, 8});
  EXPECT_ANY_THROW(CallNative("hearth::convolution", {input[0], planned, IValue(), ""}));
  EXPECT_ANY_THROW(CallNative("hearth::convolution", {input.to(at::kDouble), planned, IValue(), ""}));
  EXPECT_ANY_THROW(CallNative("hearth::convolution", {input, IValue(), IValue(), ""}));
  EXPECT_ANY_THROW(CallNative("hearth::add_convolution", {at::randn({1, 8, 8}), input, planned, IValue(), "add"}));
}

// What was planned is libraries/recurrence_test.cpp's matter; here it is what goes LibTorch's way.
TEST(RecurrenceTest, WhatWasNotPreparedGoesLibTorchsWay) {
  const std::vector<at::Tensor> parameters = {at::randn({12, 4}), at::randn({12, 3}), at::randn({12}), at::randn({12})};
  const at::Tensor input = at::randn({5, 2, 4}), state = at::randn({1, 2, 3});
  const IValue planned = libraries::Recurrence::Wrap(
      c10::make_intrusive<libraries::Recurrence>(libraries::RecurrenceSettings(), parameters));
  torch::jit::Stack stack = {input,   c10::List<at::Tensor>({state, state}),
                             planned, c10::List<at::Tensor>(parameters),
                             true,    1,
                             0.0,     false,
                             false,   false};
  OperatorRegistry::Global().Find(c10::Symbol::fromQualString("hearth::lstm"), "")->Run(stack);
  const auto [output, last, memory] = at::lstm(input, {state, state}, parameters, true, 1, 0.0, false, false, false);
  ASSERT_EQ(stack.size(), 3u);
  EXPECT_TRUE(at::allclose(stack[0].toTensor(), output, 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(stack[1].toTensor(), last, 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(stack[2].toTensor(), memory, 1e-5, 1e-6));
}

TEST(EmbeddingTest, GivesTheRowsThatLibTorchDoesAndRaisesAsItDoes) {
  const at::Tensor table = at::randn({10, 6});
  const at::Tensor many = at::randint(10, {5, 4}, at::kLong);
  for (const at::Tensor& ids :
       {many, many.select(1, 2), many.t(), at::empty({0}, at::kLong), at::scalar_tensor(3, at::kLong),
        many.to(at::kInt), at::randint(10, {4000}, at::kLong)}) {
    for (const at::Tensor& weight : {table, table.t().contiguous().t(), table.to(at::kDouble)}) {
      const at::Tensor result = CallNative("aten::embedding", {weight, ids, -1, false, false});
      EXPECT_TRUE(at::equal(result, at::embedding(weight, ids))) << ids.sizes();
      EXPECT_EQ(result.strides(), at::embedding(weight, ids).strides()) << ids.sizes();
    }
  }
  EXPECT_ANY_THROW(CallNative("aten::embedding", {table, at::full({2}, 10, at::kLong), -1, false, false}));
  EXPECT_ANY_THROW(CallNative("aten::embedding", {table, at::full({2}, -1, at::kLong), -1, false, false}));
}

// Parts of images in several formats, which have so many channels.
std::vector<at::Tensor> PartsOfImages(const std::vector<int64_t>& channels, int64_t images, int64_t form) {
  std::vector<at::Tensor> parts;
  for (const int64_t count : channels) {
    at::Tensor part = at::randn({images, count + 3, 3, 5});
    if (form > 0) part = part.contiguous(at::MemoryFormat::ChannelsLast);
    part = part.slice(1, 2, count + 2);
    if (form % 2 == 0) part = part.contiguous(part.suggest_memory_format());
    if (form == 4) part = parts.empty() ? part : part.contiguous();
    if (form == 5) part = at::randn({images, count, 5, 3}).transpose(2, 3);
    parts.push_back(std::move(part));
  }
  return parts;
}

TEST(ChannelShuffleTest, ChannelsAreThoseOfTheShuffledConcatenationInItsFormat) {
  struct Case {
    std::vector<int64_t> channels;
    int64_t groups, first, count;
  };
  const std::vector<Case> cases = {{{4, 4}, 2, 0, 8}, {{58, 58}, 2, 58, 58}, {{40, 40}, 2, 40, 40},
                                   {{12}, 3, 0, 12},  {{12, 24}, 3, 9, 18},  {{8, 6}, 2, 2, 10},
                                   {{1, 1}, 2, 0, 2}, {{6, 6}, 4, 4, 8}};
  for (const auto& [channels, groups, first, count] : cases) {
    for (const int64_t images : {1, 2}) {
      for (int64_t form = 0; form < 6; ++form) {
        const std::vector<at::Tensor> parts = PartsOfImages(channels, images, form);
        const at::Tensor joined = at::cat(parts, 1);
        const at::Tensor expected = at::channel_shuffle(joined, groups).slice(1, first, first + count);
        const at::Tensor result =
            CallNative("hearth::channel_shuffle", {c10::List<at::Tensor>(parts), groups, first, count});
        EXPECT_TRUE(at::equal(result, expected)) << channels << " by " << groups << " in form " << form;
        EXPECT_TRUE(result.is_contiguous(joined.suggest_memory_format())) << channels << " in form " << form;
      }
    }
  }
}

// Parts that lie as the result does, parts of others, and such that lie otherwise; along each dimension.
TEST(ConcatenationTest, IsWhatLibTorchMakesAlsoIntoMemory) {
  for (const int64_t images : {1, 2}) {
    for (int64_t form = 0; form < 6; ++form) {
      for (const int64_t dim : {0, 1, 2, 3, -1}) {
        std::vector<at::Tensor> parts = PartsOfImages({6, 6, 6}, images, form);
        if (dim == 1) parts.push_back(PartsOfImages({40}, images, form)[0]);
        if (dim == 2) parts.push_back(parts[0].narrow(2, 1, 2));
        for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
          const at::Tensor expected = at::cat(parts, dim);
          const at::Tensor made = CallNative("aten::cat", {c10::List<at::Tensor>(parts), dim});
          EXPECT_TRUE(at::equal(made, expected)) << images << " in form " << form << " along " << dim;
          EXPECT_EQ(made.strides(), expected.strides()) << images << " in form " << form << " along " << dim;
          const at::Tensor into = at::zeros_like(expected).contiguous(format).clone(format);
          const at::Tensor result = CallNative("aten::cat.out", {c10::List<at::Tensor>(parts), dim, into});
          EXPECT_TRUE(result.is_same(into));
          EXPECT_TRUE(at::equal(into, expected)) << images << " in form " << form << " along " << dim;
        }
      }
    }
  }
  const at::Tensor large = at::randn({3, 50'000}), into = at::empty({7, 50'000});
  CallNative("aten::cat.out", {c10::List<at::Tensor>({large, large.narrow(0, 0, 1), large}), 0, into});
  EXPECT_TRUE(at::equal(into, at::cat({large, large.narrow(0, 0, 1), large})));
  const at::Tensor rows = at::zeros({15}).as_strided({4, 6}, {3, 1}), twin = at::zeros({15}).as_strided({4, 6}, {3, 1});
  const std::vector<at::Tensor> halves = {at::randn({4, 2}), at::randn({4, 4})};
  CallNative("aten::cat.out", {c10::List<at::Tensor>(halves), 1, rows});
  at::cat_out(const_cast<at::Tensor&>(twin), halves, 1);
  EXPECT_TRUE(at::equal(rows, twin));
  // Sizes that do not fit are LibTorch's to refuse, and memory that it makes larger; and so is memory in common.
  EXPECT_ANY_THROW(CallNative("aten::cat.out", {c10::List<at::Tensor>({large, at::randn({3, 4})}), 0, into}));
  EXPECT_ANY_THROW(CallNative("aten::cat", {c10::List<at::Tensor>({large, at::randn({3, 4})}), 0}));
  EXPECT_ANY_THROW(CallNative("aten::cat", {c10::List<at::Tensor>({large, large}), 2}));
  EXPECT_ANY_THROW(CallNative("aten::cat", {c10::List<at::Tensor>(), 0}));
  const std::vector<at::Tensor> with_nothing = {at::empty({0}), large, at::empty({0, 50'000})};
  EXPECT_TRUE(at::equal(CallNative("aten::cat", {c10::List<at::Tensor>(with_nothing), 0}), large));
  EXPECT_ANY_THROW(
      CallNative("aten::cat.out", {c10::List<at::Tensor>({into.narrow(0, 0, 3), large}), 0, into.narrow(0, 0, 6)}));
}

TEST(SpreadChannelsTest, BlocksOfPixelsLieWhereTheyBelong) {
  using Pair = std::vector<int64_t>;
  for (const Pair& factors : {Pair{1, 1}, Pair{2, 2}, Pair{1, 3}, Pair{4, 2}}) {
    for (const auto& [first, last] :
         {std::pair(Pair{0, 0}, Pair{0, 0}), std::pair(Pair{1, 2}, Pair{3, 1}), std::pair(Pair{3, 4}, Pair{0, 2})}) {
      for (const int64_t channels : {1, 3, 40}) {
        const at::Tensor images = at::randn({2, factors[0] * factors[1] * channels, 5, 70});
        const at::Tensor spread = images.reshape({2, factors[0], factors[1], channels, 5, 70})
                                      .permute({0, 3, 4, 1, 5, 2})
                                      .reshape({2, channels, 5 * factors[0], 70 * factors[1]});
        const at::Tensor kept =
            spread.slice(2, first[0], 5 * factors[0] - last[0]).slice(3, first[1], 70 * factors[1] - last[1]);
        const at::Tensor expected = at::empty(kept.sizes(), kept.options(), at::MemoryFormat::ChannelsLast).copy_(kept);
        for (const at::Tensor& given : {images, images.contiguous(at::MemoryFormat::ChannelsLast),
                                        images.transpose(2, 3).clone().transpose(2, 3), images.to(at::kDouble)}) {
          const at::Tensor result = CallNative("hearth::spread_channels", {given, factors, first, last});
          EXPECT_TRUE(at::equal(result, expected.to(given.scalar_type()))) << factors << first << last << channels;
          EXPECT_EQ(result.strides(), expected.strides());
        }
      }
    }
  }
}

TEST(SpreadChannelsTest, OtherOperandsRaise) {
  using Pair = std::vector<int64_t>;
  const at::Tensor images = at::randn({1, 8, 2, 3});
  const auto spread = [](const at::Tensor& given, const Pair& factors, const Pair& first, const Pair& last) {
    return CallNative("hearth::spread_channels", {given, factors, first, last});
  };
  EXPECT_EQ(spread(images, {2, 2}, {2, 3}, {2, 3}).sizes(), (Pair{1, 2, 0, 0}));
  EXPECT_ANY_THROW(spread(images, {2, 3}, {0, 0}, {0, 0}));
  EXPECT_ANY_THROW(spread(images, {0, 2}, {0, 0}, {0, 0}));
  EXPECT_ANY_THROW(spread(images, {2, 2}, {3, 0}, {2, 0}));
  EXPECT_ANY_THROW(spread(images, {2, 2}, {0, -1}, {0, 0}));
  EXPECT_ANY_THROW(spread(images, {2, 2}, {0, 0}, {0, -1}));
  EXPECT_ANY_THROW(spread(images, {2}, {0, 0}, {0, 0}));
  EXPECT_ANY_THROW(spread(images[0], {2, 2}, {0, 0}, {0, 0}));
}

TEST(ChannelShuffleTest, OtherOperandsRaise) {
  const auto shuffle = [](const std::vector<at::Tensor>& parts, int64_t groups, int64_t first, int64_t count) {
    return CallNative("hearth::channel_shuffle", {c10::List<at::Tensor>(parts), groups, first, count});
  };
  const at::Tensor images = at::randn({1, 4, 2, 2});
  EXPECT_NO_THROW(shuffle({images}, 2, 0, 4));
  EXPECT_ANY_THROW(shuffle({images}, 3, 0, 3));
  EXPECT_ANY_THROW(shuffle({images}, 2, 1, 2));
  EXPECT_ANY_THROW(shuffle({images}, 2, 2, 4));
  EXPECT_ANY_THROW(shuffle({images}, 2, 0, 3));
  EXPECT_ANY_THROW(shuffle({images}, 0, 0, 4));
  EXPECT_ANY_THROW(shuffle({images.to(at::kDouble)}, 2, 0, 4));
  EXPECT_ANY_THROW(shuffle({images[0]}, 2, 0, 4));
  EXPECT_ANY_THROW(shuffle({images, at::randn({1, 4, 2, 3})}, 2, 0, 8));
  EXPECT_ANY_THROW(shuffle({at::randn({0, 4, 2, 2})}, 2, 0, 4));
  EXPECT_ANY_THROW(shuffle({}, 2, 0, 4));
}

}  // namespace
}  // namespace hearth
