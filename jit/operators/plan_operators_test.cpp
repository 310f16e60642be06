// The operators of plans against what LibTorch gives for the operators that they stand for.
#include "jit/operators/plan_operators.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "jit/operators/registry.h"

namespace hearth {
namespace {

using c10::IValue;

IValue RunByName(const std::string& name, const std::vector<IValue>& arguments) {
  const size_t dot = name.find('.');
  const Operator* op = OperatorRegistry::Global().Find(c10::Symbol::fromQualString(name.substr(0, dot)),
                                                       dot == std::string::npos ? "" : name.substr(dot + 1));
  std::vector<const IValue*> pointers;
  for (const IValue& argument : arguments) pointers.push_back(&argument);
  IValue result;
  op->native()({pointers.data(), pointers.size()}, &result);
  return result;
}

at::Tensor CallNative(const char* name, const std::vector<IValue>& arguments) {
  return RunByName(name, arguments).toTensor();
}

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

TEST(LinearTest, ALargeProductTakesThePackedWeight) {
  const at::Tensor input = at::randn({2, 128, 256}), bias = at::randn({512});
  for (const at::Tensor& weight : {at::randn({512, 256}), at::randn({256, 512}).t()}) {
    const at::Tensor packed = CallBoxed("mkldnn::_reorder_linear_weight", {weight.contiguous(), IValue()});
    const at::Tensor plain = at::linear(input, weight, bias);
    const auto call = [&](const at::Tensor& x, const char* activation) {
      return CallNative("hearth::linear", {x, weight, packed, bias, activation});
    };
    EXPECT_TRUE(at::allclose(call(input, "none"), plain, 1e-4, 1e-4));
    EXPECT_TRUE(at::allclose(call(input, "relu"), at::relu(plain), 1e-4, 1e-4));
    EXPECT_TRUE(at::allclose(call(input, "gelu"), at::gelu(plain), 1e-4, 1e-4));
    EXPECT_TRUE(at::allclose(call(input, "gelu_tanh"), at::gelu(plain, "tanh"), 1e-3, 1e-3));
    EXPECT_TRUE(at::allclose(call(input, "silu"), at::silu(plain), 1e-4, 1e-4));
    EXPECT_EQ(call(input, "silu").strides(), plain.strides());
    const at::Tensor nan = at::full({2, 128, 256}, std::numeric_limits<float>::quiet_NaN());
    for (const char* activation : {"relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh"}) {
      EXPECT_TRUE(call(nan, activation).isnan().all().item<bool>()) << activation;
    }
  }
}

at::Tensor Packed(const at::Tensor& weight, int64_t padding, int64_t stride, int64_t dilation, int64_t groups) {
  const std::vector<int64_t> paddings(2, padding), strides(2, stride), dilations(2, dilation);
  return CallBoxed("mkldnn::_reorder_convolution_weight", {weight, paddings, strides, dilations, groups, IValue()});
}

struct Layer {
  at::Tensor weight;
  IValue bias;
  int64_t padding, stride, dilation, groups;
};

at::Tensor Convolve(const Layer& layer, const at::Tensor& input, const char* activation) {
  const std::vector<int64_t> padding(2, layer.padding), stride(2, layer.stride), dilation(2, layer.dilation);
  const bool packed = layer.weight.suggest_memory_format() == at::MemoryFormat::Contiguous;
  const at::Tensor weight =
      packed ? Packed(layer.weight, layer.padding, layer.stride, layer.dilation, layer.groups) : layer.weight;
  return CallNative("hearth::convolution", {input, weight, IValue(), c10::List<int64_t>(), layer.bias, padding, stride,
                                            dilation, layer.groups, activation, c10::List<double>()});
}

TEST(ConvolutionTest, IsLibTorchsConvolutionWithWhatFollowsIt) {
  const std::vector<Layer> layers = {{at::randn({8, 3, 3, 3}), at::randn({8}), 1, 1, 1, 1},
                                     {at::randn({8, 3, 3, 3}), {}, 0, 2, 2, 1},
                                     {at::randn({6, 1, 3, 3}), at::randn({6}), 1, 1, 1, 3},
                                     {at::randn({3, 1, 3, 3}), at::randn({3}), 1, 2, 1, 3},
                                     {at::randn({5, 3, 1, 1}), at::randn({5}), 0, 1, 1, 1}};
  for (const Layer& layer : layers) {
    for (const at::Tensor& input : {at::randn({1, 3, 9, 7}), at::randn({2, 3, 6, 6})}) {
      std::optional<at::Tensor> bias;
      if (layer.bias.isTensor()) bias = layer.bias.toTensor();
      const at::Tensor plain =
          at::conv2d(input, layer.weight, bias, layer.stride, layer.padding, layer.dilation, layer.groups);
      const at::Tensor loose = input.contiguous(at::MemoryFormat::ChannelsLast);
      EXPECT_TRUE(at::allclose(Convolve(layer, input, "none"), plain, 1e-4, 1e-4));
      EXPECT_TRUE(at::allclose(Convolve(layer, loose, "swish"), at::silu(plain), 1e-4, 1e-4));
      EXPECT_TRUE(at::allclose(Convolve(layer, loose, "gelu"), at::gelu(plain), 1e-4, 1e-4));
      EXPECT_TRUE(at::allclose(Convolve(layer, loose, "gelu_tanh"), at::gelu(plain, "tanh"), 1e-3, 1e-3));
      const Layer unpacked = {layer.weight.clone(at::MemoryFormat::ChannelsLast),
                              layer.bias,
                              layer.padding,
                              layer.stride,
                              layer.dilation,
                              layer.groups};
      const at::Tensor result = Convolve(unpacked, input, "none");
      EXPECT_TRUE(at::allclose(result, plain, 1e-4, 1e-4));
      EXPECT_TRUE(result.is_contiguous(at::MemoryFormat::ChannelsLast));
      EXPECT_TRUE(at::allclose(Convolve(layer, loose, "hardswish"), at::hardswish(plain), 1e-4, 1e-4));
    }
  }
}

TEST(ConvolutionTest, ANanStaysOne) {
  const Layer layer{at::randn({8, 3, 3, 3}), {}, 1, 1, 1, 1};
  const at::Tensor nan = at::full({1, 3, 8, 8}, std::numeric_limits<float>::quiet_NaN());
  for (const char* activation : {"none", "swish", "hardswish", "gelu", "gelu_tanh"}) {
    EXPECT_TRUE(Convolve(layer, nan, activation).isnan().all().item<bool>()) << activation;
  }
}

TEST(ConvolutionTest, AWeightThatWasPackedForSomeSizesIsForThoseAlone) {
  const at::Tensor weight = at::randn({8, 3, 3, 3}).contiguous(at::MemoryFormat::ChannelsLast);
  // Another weight, so that it shows which one was taken.
  const at::Tensor packed = CallBoxed("mkldnn::_reorder_convolution_weight",
                                      {2 * weight, c10::List<int64_t>({1, 1}), c10::List<int64_t>({1, 1}),
                                       c10::List<int64_t>({1, 1}), 1, c10::List<int64_t>({2, 3, 8, 8})});
  const auto convolve = [&](const at::Tensor& input) {
    const c10::List<int64_t> ones({1, 1});
    return CallNative("hearth::convolution", {input, weight, packed, c10::List<int64_t>({2, 3, 8, 8}), IValue(), ones,
                                              ones, ones, 1, "none", c10::List<double>()});
  };
  const at::Tensor some = at::randn({2, 3, 8, 8}), other = at::randn({2, 3, 9, 8});
  EXPECT_TRUE(at::allclose(convolve(some), 2 * at::conv2d(some, weight, {}, 1, 1), 1e-4, 1e-4));
  EXPECT_TRUE(at::allclose(convolve(other), at::conv2d(other, weight, {}, 1, 1), 1e-4, 1e-4));
}

TEST(ConvolutionTest, RaisesForWhatThePlanWasNotMadeFor) {
  const Layer layer{at::randn({8, 3, 3, 3}), {}, 1, 1, 1, 1};
  const at::Tensor input = at::randn({1, 3, 8, 8});
  EXPECT_ANY_THROW(Convolve(layer, input[0], "none"));
  EXPECT_ANY_THROW(Convolve(layer, input.to(at::kDouble), "none"));
  EXPECT_ANY_THROW(Convolve(layer, at::randn({1, 4, 8, 8}), "none"));
}

}  // namespace
}  // namespace hearth
