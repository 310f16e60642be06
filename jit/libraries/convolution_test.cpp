#include "jit/libraries/convolution.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <c10/util/accumulate.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "jit/kernels/target.h"
#include "jit/libraries/onednn.h"

namespace hearth::libraries {
namespace {

struct Layer {
  std::vector<int64_t> weight;
  int64_t padding, stride, dilation, groups;
};

const std::vector<Layer> kLayers = {
    {{8, 3, 3, 3}, 1, 1, 1, 1},   {{16, 8, 1, 1}, 0, 1, 1, 1},  {{64, 32, 3, 3}, 1, 2, 1, 1},
    {{32, 1, 3, 3}, 1, 1, 1, 32}, {{32, 1, 5, 5}, 2, 2, 1, 32}, {{6, 1, 3, 3}, 1, 1, 1, 3},
    {{24, 4, 3, 3}, 1, 1, 1, 2},  {{8, 3, 3, 3}, 2, 1, 2, 1},   {{5, 7, 1, 1}, 0, 2, 1, 1},
    {{96, 16, 1, 1}, 0, 1, 1, 1}, {{40, 1, 7, 7}, 3, 1, 1, 40}, {{20, 1, 3, 3}, 2, 1, 2, 20},
    {{3, 1, 4, 4}, 1, 3, 1, 3},   {{64, 48, 3, 3}, 1, 1, 1, 1}, {{64, 64, 3, 3}, 0, 1, 1, 1},
    {{64, 4, 3, 3}, 1, 1, 1, 16},
};

at::Tensor Expected(const Layer& layer, const at::Tensor& input, const at::Tensor& weight,
                    const std::optional<at::Tensor>& bias) {
  return at::conv2d(input, weight, bias, layer.stride, layer.padding, layer.dilation, layer.groups);
}

c10::intrusive_ptr<Convolution> NotPacked(const Layer& layer, const at::Tensor& weight) {
  const auto two = [](int64_t number) { return std::vector<int64_t>(2, number); };
  return c10::make_intrusive<Convolution>(
      weight, ConvolutionSettings{two(layer.padding), two(layer.stride), two(layer.dilation), layer.groups});
}

c10::intrusive_ptr<Convolution> Planned(const Layer& layer, const at::Tensor& weight,
                                        const std::vector<at::IntArrayRef>& sizes) {
  auto planned = NotPacked(layer, weight);
  for (const at::IntArrayRef& each : sizes) {
    const auto form = planned->FormFor(each);
    if (form != nullptr) planned->Add({form, Pack(weight, *form)});
  }
  return planned;
}

bool AreClose(const at::Tensor& a, const at::Tensor& b) { return at::allclose(a, b, 1e-4, 1e-4, /*equal_nan=*/true); }

// Whose convolutions of normal numbers have about their size: rounding errors grow with what is added up.
at::Tensor RandomWeight(at::IntArrayRef sizes) {
  return at::randn(sizes) / std::sqrt(static_cast<double>(c10::multiply_integers(sizes.slice(1))));
}

const std::vector<std::pair<std::string, at::Tensor (*)(const at::Tensor&)>> kActivations = {
    {"", [](const at::Tensor& x) { return x; }},
    {"relu", [](const at::Tensor& x) { return at::relu(x); }},
    {"relu6", [](const at::Tensor& x) { return at::hardtanh(x, 0, 6); }},
    {"leaky_relu=0.125", [](const at::Tensor& x) { return at::leaky_relu(x, 0.125); }},
    {"gelu", [](const at::Tensor& x) { return at::gelu(x); }},
    {"gelu_tanh", [](const at::Tensor& x) { return at::gelu(x, "tanh"); }},
    {"silu", [](const at::Tensor& x) { return at::silu(x); }},
    {"sigmoid", [](const at::Tensor& x) { return at::sigmoid(x); }},
    {"tanh", [](const at::Tensor& x) { return at::tanh(x); }},
    {"hardswish", [](const at::Tensor& x) { return at::hardswish(x); }},
    {"silu relu6 tanh", [](const at::Tensor& x) { return at::tanh(at::hardtanh(at::silu(x), 0, 6)); }},
    {"silu tanh", [](const at::Tensor& x) { return at::tanh(at::silu(x)); }},
};

TEST(ConvolutionTest, GivesWhatLibTorchDoesForSizesItWasPlannedForAndOthers) {
  for (const Layer& layer : kLayers) {
    const at::Tensor weight = RandomWeight(layer.weight), bias = at::randn({layer.weight[0]});
    const int64_t in = layer.weight[1] * layer.groups;
    const auto planned = Planned(layer, weight, {{1, in, 14, 10}});
    // Without vectors groups of few channels are LibTorch's.
    EXPECT_TRUE(planned->forms() == 1 || !kernels::HasVectors()) << weight.sizes();
    for (const at::Tensor& input : {at::randn({1, in, 14, 10}), at::randn({3, in, 7, 9}), at::randn({0, in, 7, 9}),
                                    at::randn({1, in, 56, 56}).contiguous(at::MemoryFormat::ChannelsLast),
                                    at::randn({2, 14, 10, in + 5}).permute({0, 3, 1, 2}).narrow(1, 3, in)}) {
      for (const bool has_bias : {false, true}) {
        const at::Tensor expected = Expected(layer, input, weight, has_bias ? std::optional(bias) : std::nullopt);
        for (const auto& [epilogue, function] : kActivations) {
          const at::Tensor result = planned->Run(input, has_bias ? &bias : nullptr, epilogue);
          EXPECT_TRUE(AreClose(result, function(expected))) << weight.sizes() << input.sizes() << epilogue;
          EXPECT_TRUE(result.is_contiguous(at::MemoryFormat::ChannelsLast));
        }
      }
    }
  }
}

TEST(ConvolutionTest, AddsWhatIsThere) {
  for (const Layer& layer : kLayers) {
    const at::Tensor weight = RandomWeight(layer.weight), bias = at::randn({layer.weight[0]});
    const int64_t in = layer.weight[1] * layer.groups;
    const auto planned = Planned(layer, weight, {{1, in, 14, 10}});
    for (const at::Tensor& input : {at::randn({1, in, 14, 10}), at::randn({2, in, 9, 9})}) {
      const at::Tensor expected = Expected(layer, input, weight, bias);
      const at::Tensor residual = at::randn(expected.sizes()).contiguous(at::MemoryFormat::ChannelsLast);
      at::Tensor onto = residual.clone(at::MemoryFormat::ChannelsLast);
      planned->RunOnto(onto, input, &bias, "add");
      EXPECT_TRUE(AreClose(onto, expected + residual)) << weight.sizes() << input.sizes();
      onto = residual.clone(at::MemoryFormat::ChannelsLast);
      planned->RunOnto(onto, input, &bias, "add relu");
      EXPECT_TRUE(AreClose(onto, at::relu(expected + residual))) << weight.sizes() << input.sizes();
    }
  }
}

TEST(ConvolutionTest, FillsUpAsMuchAsItIsToldBeforeAndBehind) {
  for (const Layer& layer : kLayers) {
    const at::Tensor weight = RandomWeight(layer.weight), bias = at::randn({layer.weight[0]});
    const int64_t in = layer.weight[1] * layer.groups;
    for (const std::vector<int64_t>& more : std::vector<std::vector<int64_t>>{{0, 1}, {2, 0}, {1, 3}}) {
      ConvolutionSettings settings = NotPacked(layer, weight)->settings();
      settings.end_padding = {layer.padding + more[0], layer.padding + more[1]};
      const auto planned = c10::make_intrusive<Convolution>(weight, settings);
      if (const auto form = planned->FormFor({1, in, 14, 10})) planned->Add({form, planned->Packed(*form)});
      for (const at::Tensor& input : {at::randn({1, in, 14, 10}), at::randn({2, in, 9, 7})}) {
        const at::Tensor padded = at::constant_pad_nd(input, {0, more[1], 0, more[0]});
        const at::Tensor expected = Expected(layer, padded, weight, bias);
        EXPECT_TRUE(AreClose(planned->Run(input, &bias, ""), expected)) << weight.sizes() << input.sizes() << more;
      }
    }
  }
}

struct VolumeLayer {
  std::vector<int64_t> weight, padding, stride, dilation;
};

// Of whole kernels, of one slice, of pixels of several slices, of single pixels.
const std::vector<VolumeLayer> kVolumeLayers = {
    {{16, 3, 3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},  {{24, 16, 3, 5, 2}, {1, 2, 0}, {2, 1, 2}, {1, 1, 1}},
    {{24, 16, 1, 3, 5}, {0, 1, 2}, {1, 2, 1}, {1, 1, 1}}, {{45, 3, 1, 7, 7}, {0, 3, 3}, {1, 2, 2}, {1, 1, 1}},
    {{24, 16, 3, 1, 1}, {1, 0, 0}, {1, 1, 1}, {1, 1, 1}}, {{24, 16, 2, 1, 1}, {1, 0, 0}, {2, 1, 1}, {2, 1, 1}},
    {{24, 16, 1, 1, 1}, {0, 0, 0}, {1, 1, 1}, {1, 1, 1}}, {{24, 16, 1, 1, 1}, {0, 0, 0}, {2, 2, 2}, {1, 1, 1}},
    {{24, 16, 1, 1, 1}, {1, 0, 0}, {1, 1, 1}, {1, 1, 1}}, {{8, 4, 3, 3, 3}, {2, 2, 2}, {1, 1, 1}, {2, 2, 2}},
    {{64, 48, 3, 3, 3}, {1, 1, 1}, {2, 1, 1}, {1, 1, 1}}, {{64, 48, 1, 3, 3}, {0, 1, 1}, {1, 1, 1}, {1, 1, 1}},
    {{64, 48, 3, 1, 1}, {1, 0, 0}, {1, 1, 1}, {1, 1, 1}},
};

at::Tensor Expected(const VolumeLayer& layer, const at::Tensor& input, const at::Tensor& weight,
                    const std::optional<at::Tensor>& bias) {
  return at::conv3d(input, weight, bias, layer.stride, layer.padding, layer.dilation);
}

c10::intrusive_ptr<Convolution> NotPacked(const VolumeLayer& layer, const at::Tensor& weight) {
  return c10::make_intrusive<Convolution>(
      weight, ConvolutionSettings{layer.padding, layer.stride, layer.dilation, /*groups=*/1});
}

c10::intrusive_ptr<Convolution> Planned(const VolumeLayer& layer, const at::Tensor& weight, at::IntArrayRef sizes) {
  auto planned = NotPacked(layer, weight);
  if (const auto form = planned->FormFor(sizes)) planned->Add({form, planned->Packed(*form)});
  return planned;
}

// Whether products are saved for inputs of these sizes (kernels/winograd.h).
template <typename AnyLayer>
bool IsByWinograd(const AnyLayer& layer, const at::Tensor& weight, at::IntArrayRef sizes) {
  const auto form = NotPacked(layer, weight)->FormFor(sizes);
  return form != nullptr && form->user == WeightUser::kWinograd;
}

TEST(ConvolutionTest, SavesProductsWhereThatIsWorthIt) {
  if (!kernels::HasVectors()) GTEST_SKIP() << "this processor has neither AVX-512 nor AVX2";
  const at::Tensor wide = at::randn({64, 64, 3, 3}), narrow = at::randn({8, 3, 3, 3}), row = at::randn({64, 64, 1, 3});
  EXPECT_TRUE(IsByWinograd(Layer{{64, 64, 3, 3}, 1, 1, 1, 1}, wide, {1, 64, 56, 56}));
  EXPECT_FALSE(IsByWinograd(Layer{{64, 64, 3, 3}, 1, 2, 1, 1}, wide, {1, 64, 56, 56}));
  EXPECT_FALSE(IsByWinograd(Layer{{64, 64, 3, 3}, 2, 1, 2, 1}, wide, {1, 64, 56, 56}));
  EXPECT_FALSE(IsByWinograd(Layer{{64, 64, 3, 3}, 1, 1, 1, 1}, wide, {1, 64, 1, 1}));
  EXPECT_FALSE(IsByWinograd(Layer{{8, 3, 3, 3}, 1, 1, 1, 1}, narrow, {1, 3, 224, 224}));
  EXPECT_TRUE(IsByWinograd(Layer{{64, 4, 3, 3}, 1, 1, 1, 16}, at::randn({64, 4, 3, 3}), {1, 64, 56, 56}));
  EXPECT_TRUE(IsByWinograd(Layer{{64, 64, 1, 3}, 0, 1, 1, 1}, row, {1, 64, 1, 300}));
  const VolumeLayer of_volumes = {{64, 64, 3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}};
  EXPECT_TRUE(IsByWinograd(of_volumes, at::randn(of_volumes.weight), {1, 64, 8, 14, 14}));
  at::Tensor infinite = wide.clone();
  infinite[3][5][1][1] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(IsByWinograd(Layer{{64, 64, 3, 3}, 1, 1, 1, 1}, infinite, {1, 64, 56, 56}));
}

TEST(ConvolutionTest, ANumberThatIsNotFiniteIsKeptToItsKernels) {
  const Layer layer = {{64, 64, 3, 3}, 1, 1, 1, 1};
  const at::Tensor weight = RandomWeight(layer.weight), bias = at::randn({64});
  const auto planned = Planned(layer, weight, {{2, 64, 28, 28}});
  at::Tensor input = at::randn({2, 64, 28, 28}).contiguous(at::MemoryFormat::ChannelsLast);
  input[0][7][13][3] = std::numeric_limits<float>::infinity();
  input[1][0][27][27] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(AreClose(planned->Run(input, &bias, "relu"), at::relu(Expected(layer, input, weight, bias))));
}

TEST(ConvolutionTest, ReluGivesZeroForWhatIsBelowAllNumbers) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<Layer> layers(std::begin(kLayers), std::end(kLayers));
  layers.insert(layers.end(), {{{6, 8, 3, 3}, 0, 1, 1, 1}, {{8, 4, 3, 3}, 0, 1, 1, 2}, {{6, 4, 1, 3}, 0, 1, 1, 1}});
  for (const Layer& layer : layers) {
    const at::Tensor weight = RandomWeight(layer.weight), bias = at::randn({layer.weight[0]});
    at::Tensor input = at::randn({2, layer.weight[1] * layer.groups, 14, 10});
    input[0][0][7][3] = kInfinity;
    input[1][0][2][2] = -kInfinity;
    const auto planned = Planned(layer, weight, {input.sizes()});
    EXPECT_TRUE(AreClose(planned->Run(input, &bias, "relu"), at::relu(Expected(layer, input, weight, bias))))
        << weight.sizes();
  }
}

TEST(ConvolutionTest, OfVolumesGivesWhatLibTorchDoes) {
  constexpr auto kLast = at::MemoryFormat::ChannelsLast3d;
  const int before = at::get_num_threads();
  for (const VolumeLayer& layer : kVolumeLayers) {
    const int64_t in = layer.weight[1];
    const at::Tensor weight = RandomWeight(layer.weight), bias = at::randn({layer.weight[0]});
    for (const int threads : {1, 3}) {
      at::set_num_threads(threads);
      const auto planned = Planned(layer, weight, {1, in, 6, 9, 8});
      EXPECT_EQ(planned->forms(), 1u) << weight.sizes();
      planned->Prepare({1, in, 6, 9, 8}, true, "relu");
      EXPECT_TRUE(planned->IsPrepared({1, in, 6, 9, 8}, true, "relu"));
      for (const at::Tensor& input :
           {at::randn({1, in, 6, 9, 8}).contiguous(kLast), at::randn({2, in, 5, 7, 9}), at::randn({0, in, 5, 7, 9}),
            at::randn({2, 6, 9, 8, in + 5}).permute({0, 4, 1, 2, 3}).narrow(1, 3, in),
            at::randn({2, in, 6, 9, 16}).contiguous(kLast).narrow(4, 2, 9),
            at::randn({3, in, 6, 9, 1}).expand({3, in, 6, 9, 7})}) {
        for (const auto& [epilogue, function] : kActivations) {
          const at::Tensor expected = Expected(layer, input, weight, bias);
          const at::Tensor result = planned->Run(input, &bias, epilogue);
          EXPECT_TRUE(AreClose(result, function(expected))) << weight.sizes() << input.sizes() << epilogue;
          EXPECT_EQ(result.strides(), at::empty(expected.sizes(), kLast).strides());
        }
        EXPECT_TRUE(AreClose(planned->Run(input, nullptr, ""), Expected(layer, input, weight, {})));
        const at::Tensor sum = Expected(layer, input, weight, bias);
        const at::Tensor residual = at::randn(sum.sizes()).contiguous(kLast);
        at::Tensor onto = residual.clone(kLast);
        planned->RunOnto(onto, input, &bias, "add relu");
        EXPECT_TRUE(AreClose(onto, at::relu(sum + residual))) << weight.sizes() << input.sizes();
      }
    }
    at::set_num_threads(before);
  }
}

TEST(ConvolutionTest, OfVolumesRaisesForWhatWasNotPlanned) {
  for (const VolumeLayer& layer : kVolumeLayers) {
    const int64_t in = layer.weight[1];
    const auto planned = Planned(layer, at::randn(layer.weight), {1, in, 6, 9, 8});
    EXPECT_ANY_THROW(planned->Run(at::randn({1, in, 9, 8}), nullptr, ""));
    EXPECT_ANY_THROW(planned->Run(at::randn({1, in + 1, 6, 9, 8}), nullptr, ""));
    EXPECT_ANY_THROW(planned->Run(at::randn({1, in, 0, 9, 8}), nullptr, "")) << layer.weight;
    at::Tensor in_other_order = at::randn(planned->Run(at::randn({1, in, 6, 9, 8}), nullptr, "").sizes());
    EXPECT_ANY_THROW(planned->RunOnto(in_other_order, at::randn({1, in, 6, 9, 8}), nullptr, "add"));
  }
}

// In parts, of rows or of channels.
TEST(ConvolutionTest, SeveralThreadsGiveWhatOneDoes) {
  const std::vector<std::pair<Layer, std::vector<int64_t>>> cases = {
      {{{64, 64, 3, 3}, 1, 1, 1, 1}, {1, 64, 14, 14}},   {{{256, 128, 3, 3}, 1, 1, 1, 1}, {1, 128, 7, 7}},
      {{{200, 48, 3, 3}, 1, 2, 1, 1}, {2, 48, 15, 17}},  {{{64, 3, 7, 7}, 3, 2, 1, 1}, {1, 3, 64, 64}},
      {{{128, 16, 3, 3}, 2, 1, 2, 4}, {1, 64, 20, 20}},  {{{130, 64, 3, 3}, 0, 1, 1, 1}, {3, 64, 9, 12}},
      {{{320, 320, 1, 1}, 0, 2, 1, 1}, {1, 320, 14, 14}}};
  const int before = at::get_num_threads();
  for (const auto& [layer, sizes] : cases) {
    const at::Tensor weight = RandomWeight(layer.weight), bias = at::randn({layer.weight[0]}), input = at::randn(sizes);
    const at::Tensor expected = Expected(layer, input, weight, bias);
    const at::Tensor residual = at::randn(expected.sizes()).contiguous(at::MemoryFormat::ChannelsLast);
    for (const int threads : {2, 3, 16}) {
      at::set_num_threads(threads);
      const auto planned = Planned(layer, weight, {sizes});
      EXPECT_TRUE(at::allclose(planned->Run(input, &bias, "relu"), at::relu(expected), 1e-4, 1e-3)) << weight.sizes();
      at::Tensor onto = residual.clone(at::MemoryFormat::ChannelsLast);
      planned->RunOnto(onto, input, &bias, "add relu");
      EXPECT_TRUE(at::allclose(onto, at::relu(expected + residual), 1e-4, 1e-3)) << weight.sizes() << threads;
    }
    at::set_num_threads(before);
  }
}

// With AVX2 on several threads alone.
TEST(ConvolutionTest, DepthwiseOnesNeedNoPreparation) {
  if (!kernels::HasAvx512() && (!kernels::HasVectors() || at::get_num_threads() == 1))
    GTEST_SKIP() << "this processor has neither AVX-512 nor AVX2, or the test has one thread";
  const Layer layer{{24, 1, 3, 3}, 1, 1, 1, 24};
  const auto planned = Planned(layer, at::randn(layer.weight), {{1, 24, 14, 10}});
  EXPECT_TRUE(planned->IsPrepared({1, 24, 9, 11}, true, "silu"));
  EXPECT_FALSE(planned->IsPrepared({1, 24, 0, 11}, true, "silu"));
  // The kernel is larger than what there is of an image.
  const Layer large{{24, 1, 5, 5}, 0, 1, 1, 24};
  EXPECT_ANY_THROW(
      Planned(large, at::randn(large.weight), {{1, 24, 9, 9}})->Run(at::randn({1, 24, 4, 9}), nullptr, ""));
}

TEST(ConvolutionTest, AChannelMayHaveSeveralKernels) {
  for (const int64_t kernels : {2, 3}) {
    const Layer layer{{24 * kernels, 1, 3, 3}, 1, 2, 1, 24};
    const at::Tensor weight = RandomWeight(layer.weight), bias = at::randn({24 * kernels});
    const at::Tensor wide = at::randn({2, 30, 15, 10}).contiguous(at::MemoryFormat::ChannelsLast);
    for (const at::Tensor& input : {wide.slice(1, 0, 24), wide.slice(1, 6, 30).contiguous()}) {
      const auto planned = Planned(layer, weight, {input.sizes()});
      EXPECT_TRUE(AreClose(planned->Run(input, &bias, "relu"), at::relu(Expected(layer, input, weight, bias))));
    }
  }
}

// Those of wide dilation, which oneDNN has no kernel for without AVX-512.
TEST(ConvolutionTest, DepthwiseOnesMayBeFarDilated) {
  for (const int64_t dilation : {1, 4, 16}) {
    const Layer layer{{24, 1, 3, 3}, dilation, 1, dilation, 24};
    const at::Tensor weight = RandomWeight(layer.weight), input = at::randn({1, 24, 40, 36}), bias = at::randn({24});
    const auto planned = Planned(layer, weight, {input.sizes()});
    ASSERT_TRUE(planned->forms() == 1 || !kernels::HasVectors());
    EXPECT_TRUE(dilation < 16 || !kernels::HasVectors() || planned->IsPrepared(input.sizes(), true, "silu"));
    const at::Tensor expected = Expected(layer, input, weight, bias);
    for (const auto& [epilogue, function] : kActivations) {
      EXPECT_TRUE(AreClose(planned->Run(input, &bias, epilogue), function(expected))) << epilogue << dilation;
    }
    at::Tensor onto = at::full(expected.sizes(), 2.0).contiguous(at::MemoryFormat::ChannelsLast);
    planned->RunOnto(onto, input, &bias, "add silu");
    EXPECT_TRUE(AreClose(onto, at::silu(expected + 2))) << dilation;
  }
}

// Without a weight in any form, and with one that no primitive wants for these sizes.
TEST(ConvolutionTest, WithoutCodeOfTheLibrarysLibTorchComputesIt) {
  const Layer& layer = kLayers[2];
  const at::Tensor weight = RandomWeight(layer.weight), input = at::randn({1, 32, 9, 9}), bias = at::randn({64});
  const auto planned = Planned(layer, weight, {});
  const at::Tensor expected = Expected(layer, input, weight, bias);
  EXPECT_TRUE(AreClose(planned->Run(input, &bias, "silu"), at::silu(expected)));
  at::Tensor onto = at::full(expected.sizes(), 2.0).contiguous(at::MemoryFormat::ChannelsLast);
  planned->RunOnto(onto, input, &bias, "add relu");
  EXPECT_TRUE(AreClose(onto, at::relu(expected + 2)));
}

TEST(ConvolutionTest, ANanAndZeroStayWhatTheyAre) {
  for (const Layer& layer : {Layer{{16, 16, 1, 1}, 0, 1, 1, 1}, Layer{{16, 1, 3, 3}, 1, 1, 1, 16}}) {
    const at::Tensor weight = at::full(layer.weight, 0.0), input = at::full({1, 16, 4, 4}, 0.0);
    const auto planned = Planned(layer, weight, {input.sizes()});
    ASSERT_EQ(planned->forms(), 1u);
    for (const auto& [epilogue, function] : kActivations) {
      const at::Tensor nan = at::full({16}, std::numeric_limits<float>::quiet_NaN());
      EXPECT_TRUE(planned->Run(input, &nan, epilogue).isnan().all().item<bool>()) << epilogue;
    }
    for (const float number :
         {-3.0f, -0.0f, 1e-30f, -std::numeric_limits<float>::max(), std::numeric_limits<float>::infinity()}) {
      const at::Tensor bias = at::full({16}, number);
      const at::Tensor result = planned->Run(input, &bias, "relu");
      EXPECT_TRUE(at::equal(result, at::relu(bias).reshape({1, 16, 1, 1}).expand_as(result))) << number;
      EXPECT_FALSE(result.signbit().any().item<bool>()) << number;
    }
  }
}

TEST(ConvolutionTest, RaisesForWhatWasNotPlanned) {
  const Layer& layer = kLayers[0];
  const at::Tensor weight = RandomWeight(layer.weight), input = at::randn({1, 3, 8, 8});
  const auto planned = Planned(layer, weight, {input.sizes()});
  EXPECT_ANY_THROW(planned->Run(input[0], nullptr, ""));
  EXPECT_ANY_THROW(planned->Run(input.to(at::kDouble), nullptr, ""));
  EXPECT_ANY_THROW(planned->Run(at::randn({1, 4, 8, 8}), nullptr, ""));
  EXPECT_ANY_THROW(planned->Run(input, nullptr, "fold"));
  EXPECT_ANY_THROW(planned->Run(input, nullptr, "leaky_relu=a"));
  const at::Tensor bias = at::randn({7});
  EXPECT_ANY_THROW(planned->Run(input, &bias, ""));
  at::Tensor onto = at::randn({1, 8, 8, 7}).contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_ANY_THROW(planned->RunOnto(onto, input, nullptr, "add"));
  at::Tensor in_other_order = at::randn({1, 8, 8, 8});
  EXPECT_ANY_THROW(planned->RunOnto(in_other_order, input, nullptr, "add"));
}

// With two, each would have threads that wait for work on processors that the other one uses.
TEST(ConvolutionTest, TheProcessHasOneOpenMp) {
  const Layer& layer = kLayers[0];
  const auto planned = Planned(layer, at::randn(layer.weight), {{1, 3, 8, 8}});
  planned->Run(at::randn({1, 3, 8, 8}), nullptr, "");
  std::set<std::string> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t path = line.find('/');
    if (path == std::string::npos) continue;
    if (line.find("gomp", path) != std::string::npos || line.find("iomp", path) != std::string::npos)
      found.insert(line.substr(path));
  }
  EXPECT_EQ(found.size(), 1u) << ::testing::PrintToString(found);
}

// Of one image its distance to the next one means nothing; of several it does.
TEST(ImagesTest, AreTakenAsTheyLieWherePixelsFollowEachOther) {
  const auto images = [](int64_t count, int64_t image, int64_t pixel) {
    return at::empty_strided({count, 3, 4, 5}, {image, 1, 5 * pixel, pixel}, at::kFloat);
  };
  EXPECT_TRUE(LieInPixels(images(2, 60, 3)));
  EXPECT_TRUE(LieInPixels(images(2, 140, 7)));
  EXPECT_TRUE(LieInPixels(images(1, 3, 3)));
  EXPECT_FALSE(LieInPixels(images(2, 63, 3)));
  EXPECT_FALSE(LieInPixels(at::empty({1, 3, 4, 5})));
  const at::Tensor volumes = at::empty({2, 3, 4, 5, 6}, at::MemoryFormat::ChannelsLast3d);
  EXPECT_TRUE(LieInPixels(volumes));
  EXPECT_TRUE(LieInPixels(volumes.narrow(1, 1, 2)));
  EXPECT_FALSE(LieInPixels(volumes.narrow(2, 1, 2)));
  EXPECT_TRUE(LieInPixels(volumes.narrow(0, 1, 1).narrow(2, 1, 2)));
}

}  // namespace
}  // namespace hearth::libraries
