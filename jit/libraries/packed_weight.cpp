#include "jit/libraries/packed_weight.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu_ops.h>
#include <ATen/ops/hardswish_ops.h>
#include <ATen/ops/hardtanh_ops.h>
#include <ATen/ops/leaky_relu_ops.h>
#include <ATen/ops/relu_ops.h>
#include <ATen/ops/sigmoid_ops.h>
#include <ATen/ops/silu_ops.h>
#include <ATen/ops/tanh_ops.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>

#include "jit/kernels/convolution.h"
#include "jit/kernels/depthwise.h"
#include "jit/libraries/onednn.h"

namespace hearth::libraries {
namespace {

constexpr std::string_view kAdd = "add";

struct Activation {
  std::string_view name;
  kernels::Activation kernel;
  // With the number that the word has.
  void (*in_place)(at::Tensor&, double);
  // Null: the library has nothing that keeps a NaN and all that is small.
  void (*follow)(dnnl::post_ops&, float);
};

const Activation kActivations[] = {
    {"relu", kernels::Activation::kRelu, [](at::Tensor& tensor, double) { at::_ops::relu_::call(tensor); }, nullptr},
    {"relu6", kernels::Activation::kRelu6, [](at::Tensor& tensor, double) { at::_ops::hardtanh_::call(tensor, 0, 6); },
     nullptr},
    {"leaky_relu", kernels::Activation::kLeakyRelu,
     [](at::Tensor& tensor, double slope) { at::_ops::leaky_relu_::call(tensor, slope); },
     [](dnnl::post_ops& following, float slope) {
       following.append_eltwise(dnnl::algorithm::eltwise_relu, slope, 0.0f);
     }},
    {"gelu", kernels::Activation::kGelu, [](at::Tensor& tensor, double) { at::_ops::gelu_::call(tensor, "none"); },
     [](dnnl::post_ops& following, float) { following.append_eltwise(dnnl::algorithm::eltwise_gelu_erf, 0.0f, 0.0f); }},
    {"gelu_tanh", kernels::Activation::kGeluTanh,
     [](at::Tensor& tensor, double) { at::_ops::gelu_::call(tensor, "tanh"); },
     [](dnnl::post_ops& following, float) {
       following.append_eltwise(dnnl::algorithm::eltwise_gelu_tanh, 0.0f, 0.0f);
     }},
    {"silu", kernels::Activation::kSilu, [](at::Tensor& tensor, double) { at::_ops::silu_::call(tensor); },
     [](dnnl::post_ops& following, float) { following.append_eltwise(dnnl::algorithm::eltwise_swish, 1.0f, 0.0f); }},
    {"sigmoid", kernels::Activation::kSigmoid, [](at::Tensor& tensor, double) { at::_ops::sigmoid_::call(tensor); },
     [](dnnl::post_ops& following, float) { following.append_eltwise(dnnl::algorithm::eltwise_logistic, 0.0f, 0.0f); }},
    {"tanh", kernels::Activation::kTanh, [](at::Tensor& tensor, double) { at::_ops::tanh_::call(tensor); },
     [](dnnl::post_ops& following, float) { following.append_eltwise(dnnl::algorithm::eltwise_tanh, 0.0f, 0.0f); }},
    {"hardswish", kernels::Activation::kHardSwish,
     [](at::Tensor& tensor, double) { at::_ops::hardswish_::call(tensor); },
     [](dnnl::post_ops& following, float) {
       following.append_eltwise(dnnl::algorithm::eltwise_hardswish, 1.0f / 6, 0.5f);
     }},
};

// The first word of an epilogue that is not empty, which is removed.
std::string_view TakeWord(std::string_view& epilogue) {
  const std::string_view word = epilogue.substr(0, epilogue.find(' '));
  epilogue.remove_prefix(std::min(epilogue.size(), word.size() + 1));
  return word;
}

// That a word stands for, with or without its number.
const Activation* FindActivation(std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  for (const Activation& activation : kActivations) {
    if (activation.name == name) return &activation;
  }
  return nullptr;
}

void ForEachActivation(std::string_view epilogue, const std::function<void(const Activation&, double)>& visit) {
  while (!epilogue.empty()) {
    const std::string_view word = TakeWord(epilogue);
    if (word == kAdd) continue;
    const size_t equals = std::min(word.find('='), word.size());
    const Activation* activation = FindActivation(word);
    double number = 0;
    const std::from_chars_result read =
        std::from_chars(word.data() + std::min(equals + 1, word.size()), word.data() + word.size(), number);
    TORCH_CHECK(activation != nullptr && (equals == word.size() || read.ec == std::errc()), "no activation is called '",
                std::string(word), "'");
    visit(*activation, number);
  }
}

// Of a matrix [inner, columns], or of [columns, inner, 1, 1].
at::Tensor PackPanels(const at::Tensor& weight) {
  TORCH_CHECK(weight.dim() == 2 || (weight.dim() == 4 && weight.size(2) == 1 && weight.size(3) == 1),
              "not the weight of a product");
  const at::Tensor matrix = weight.dim() == 2 ? weight : weight.view({weight.size(0), weight.size(1)}).t();
  at::Tensor packed = at::empty({kernels::PackedSize(matrix.size(0), matrix.size(1))}, at::kFloat);
  kernels::PackMatrix(matrix.const_data_ptr<float>(), matrix.stride(0), matrix.stride(1), matrix.size(0),
                      matrix.size(1), packed.mutable_data_ptr<float>());
  return packed;
}

// Of [out, in / groups, height, width].
at::Tensor PackKernels(const at::Tensor& weight, int64_t groups) {
  const kernels::ImageKernels sizes{.out_channels = weight.size(0),
                                    .channels_of_group = weight.size(1),
                                    .groups = groups,
                                    .height = weight.size(2),
                                    .width = weight.size(3)};
  at::Tensor packed = at::empty({sizes.PackedSize()}, at::kFloat);
  kernels::PackImageKernels(sizes, weight.const_data_ptr<float>(), weight.stride(0), weight.stride(1), weight.stride(2),
                            weight.stride(3), packed.mutable_data_ptr<float>());
  return packed;
}

// Of [out, in / groups, height, width], or of [out, in / groups, depth, height, width].
at::Tensor PackForWinograd(const at::Tensor& weight, const WeightForm& form) {
  const at::Tensor volumes = weight.dim() == 5 ? weight : weight.unsqueeze(2);
  const at::IntArrayRef sizes = volumes.sizes(), strides = volumes.strides();
  const kernels::WinogradKernels kernels{sizes[0], sizes[1], form.groups, form.merged, sizes[2], sizes[3], sizes[4]};
  at::Tensor packed = at::empty({kernels.PackedSize(form.tile)}, at::kFloat);
  kernels::PackWinogradKernels(form.tile, kernels, volumes.const_data_ptr<float>(),
                               {strides[0], strides[1], strides[2], strides[3], strides[4]},
                               packed.mutable_data_ptr<float>());
  return packed;
}

// Of [channels, 1, height, width].
at::Tensor PackDepthwiseKernels(const at::Tensor& weight) {
  TORCH_CHECK(weight.dim() == 4 && weight.size(1) == 1, "not the weight of a depthwise convolution");
  const int64_t channels = weight.size(0), height = weight.size(2), width = weight.size(3);
  at::Tensor packed = at::empty({kernels::DepthwisePackedSize(channels, height, width)}, at::kFloat);
  kernels::PackDepthwise(weight.const_data_ptr<float>(), channels, height, width, weight.stride(0), weight.stride(2),
                         weight.stride(3), packed.mutable_data_ptr<float>());
  return packed;
}

}  // namespace

at::Tensor Pack(const at::Tensor& weight, const WeightForm& form) {
  const at::NoGradGuard no_gradients;
  switch (form.user) {
    case WeightUser::kProduct:
      return PackPanels(weight);
    case WeightUser::kConvolution:
      return PackKernels(weight, form.groups);
    case WeightUser::kDepthwise:
      return PackDepthwiseKernels(weight);
    case WeightUser::kWinograd:
      return PackForWinograd(weight, form);
    case WeightUser::kLibrary:
      break;
  }
  const dnnl::memory::dims strides(weight.strides().begin(), weight.strides().end());
  // With groups the form has one dimension more than the weight, which the first one is split into.
  dnnl::memory::dims sizes = form.form.get_dims(), from = strides;
  if (sizes.size() == from.size() + 1) from.insert(from.begin(), sizes[1] * from[0]);
  TORCH_CHECK(sizes.size() == from.size(), "not a form of that weight");
  const dnnl::memory::desc plain(sizes, dnnl::memory::data_type::f32, from);
  const size_t bytes = form.form.get_size();
  at::Tensor packed = at::empty({static_cast<int64_t>((bytes + sizeof(float) - 1) / sizeof(float))}, at::kFloat);
  dnnl::memory source(plain, Engine(), const_cast<void*>(weight.const_data_ptr()));
  dnnl::memory target(form.form, Engine(), packed.mutable_data_ptr());
  dnnl::stream stream(Engine());
  dnnl::reorder(source, target).execute(stream, source, target);
  stream.wait();
  return packed;
}

const std::string& TextOf(const WeightForm& form) { return form.text; }

std::string Followed(std::string_view epilogue, std::string_view word) {
  std::string both(epilogue);
  if (!both.empty()) both += ' ';
  return both.append(word);
}

void ApplyEpilogue(std::string_view epilogue, at::Tensor& tensor) {
  ForEachActivation(epilogue,
                    [&](const Activation& activation, double number) { activation.in_place(tensor, number); });
}

bool Adds(std::string_view epilogue) { return epilogue.substr(0, epilogue.find(' ')) == kAdd; }

bool IsBare(std::string_view epilogue) { return epilogue.empty() || epilogue == kAdd; }

std::optional<KernelEpilogue> KernelEpilogueOf(std::string_view epilogue) {
  KernelEpilogue found{.adds = Adds(epilogue)};
  bool has_all = true;
  ForEachActivation(epilogue, [&](const Activation& activation, double number) {
    has_all = has_all && found.activation == kernels::Activation::kNone;
    found.activation = activation.kernel;
    found.slope = static_cast<float>(number);
  });
  return has_all ? std::optional(found) : std::nullopt;
}

EpilogueParts PartsOf(std::string_view epilogue) {
  std::string_view afterwards = epilogue;
  for (std::string_view rest = epilogue; !rest.empty(); afterwards = rest) {
    const Activation* activation = FindActivation(TakeWord(rest));
    if (activation != nullptr && activation->follow == nullptr) break;
  }
  std::string_view of_library = epilogue.substr(0, epilogue.size() - afterwards.size());
  if (of_library.ends_with(' ')) of_library.remove_suffix(1);
  return {of_library, afterwards};
}

dnnl::primitive_attr AttributesOf(std::string_view epilogue) {
  dnnl::post_ops following;
  if (Adds(epilogue)) following.append_sum();
  ForEachActivation(epilogue, [&](const Activation& activation, double number) {
    TORCH_CHECK(activation.follow != nullptr, "not in the library's part of an epilogue: ", activation.name);
    activation.follow(following, static_cast<float>(number));
  });
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(following);
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

}  // namespace hearth::libraries
