#include "jit/definitions/convolution_call.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "jit/definitions/node_effects.h"
#include "jit/definitions/value_facts.h"
#include "jit/operators/operator.h"

namespace hearth {
namespace {

bool IsUsable(const at::Tensor& tensor) {
  return tensor.defined() && IsPlain(tensor) && tensor.numel() > 0 && tensor.is_non_overlapping_and_dense();
}

// So many of a setting, of which one may stand for all, each at least `least`.
std::optional<std::vector<int64_t>> SettingOf(const Value& value, size_t count, int64_t least) {
  const c10::IValue* constant = ConstantOf(value);
  if (constant == nullptr || !constant->isIntList()) return {};
  std::vector<int64_t> setting = constant->toIntVector();
  if (setting.size() == 1) setting.resize(count, setting.front());
  const bool fits =
      setting.size() == count && std::ranges::all_of(setting, [&](int64_t number) { return number >= least; });
  return fits ? std::optional(setting) : std::nullopt;
}

bool IsGeneral(const Node& node) {
  return node.kind() == c10::aten::_convolution || node.kind() == c10::aten::convolution;
}

// Of `spatial` dimensions beside batch and channels, for which `symbol` is called.
std::optional<ConvolutionCall> CallOf(const Node& node, Symbol symbol, size_t spatial) {
  if (node.op() == nullptr || !node.op()->schema().overload_name().empty()) return {};
  const bool general = IsGeneral(node);
  if ((!general && node.kind() != symbol) || IsTransposedConvolution(node) != false) return {};
  const c10::IValue* weight = ConstantOf(*node.input(1));
  const c10::IValue* bias = ConstantOf(*node.input(2));
  if (weight == nullptr || !weight->isTensor() || !IsUsable(weight->toTensor()) ||
      weight->toTensor().dim() != static_cast<int64_t>(spatial) + 2)
    return {};
  const int64_t outputs = weight->toTensor().size(0);
  if (bias == nullptr || (bias->isTensor() ? !IsUsable(bias->toTensor()) : !bias->isNone())) return {};
  const auto stride = SettingOf(*node.input(3), spatial, 1), padding = SettingOf(*node.input(4), spatial, 0),
             dilation = SettingOf(*node.input(5), spatial, 1);
  const c10::IValue* groups = ConstantOf(*node.input(general ? 8 : 6));
  if (!stride || !padding || !dilation || groups == nullptr || !groups->isInt()) return {};
  if (groups->toInt() < 1 || outputs % groups->toInt() != 0) return {};
  return ConvolutionCall{weight->toTensor(), *padding, *stride, *dilation, groups->toInt()};
}

}  // namespace

std::optional<bool> IsTransposedConvolution(const Node& node) {
  if (IsGeneral(node)) {
    const c10::IValue* transposed = ConstantOf(*node.input(6));
    return transposed != nullptr && transposed->isBool() ? std::optional(transposed->toBool()) : std::nullopt;
  }
  const Symbol kind = node.kind();
  if (kind == c10::aten::conv_transpose1d || kind == c10::aten::conv_transpose2d || kind == c10::aten::conv_transpose3d)
    return true;
  const bool is_plain = kind == c10::aten::conv1d || kind == c10::aten::conv2d || kind == c10::aten::conv3d;
  return is_plain ? std::optional(false) : std::nullopt;
}

bool ConvolutionCall::IsOfSinglePixels() const {
  const auto are = [](const std::vector<int64_t>& numbers, int64_t all) {
    return std::ranges::all_of(numbers, [all](int64_t number) { return number == all; });
  };
  return weight.size(2) == 1 && weight.size(3) == 1 && are(stride, 1) && are(padding, 0);
}

std::optional<ConvolutionCall> ConvolutionCall::Of(const Node& node) { return CallOf(node, c10::aten::conv2d, 2); }

std::optional<ConvolutionCall> ConvolutionCall::OfImagesOrVolumes(const Node& node) {
  std::optional<ConvolutionCall> images = Of(node);
  return images ? images : CallOf(node, c10::aten::conv3d, 3);
}

std::optional<ConvolutionCall> ConvolutionCall::OfSequences(const Node& node) {
  std::optional<ConvolutionCall> call = CallOf(node, c10::aten::conv1d, 1);
  if (!call) return {};
  const at::NoGradGuard no_gradients;
  call->weight = call->weight.detach().unsqueeze(2);
  call->padding.insert(call->padding.begin(), 0);
  call->stride.insert(call->stride.begin(), 1);
  call->dilation.insert(call->dilation.begin(), 1);
  return call;
}

std::optional<TransposedConvolutionCall> TransposedConvolutionCall::Of(const Node& node) {
  if (node.op() == nullptr) return {};
  const bool general = IsGeneral(node), of_images = node.kind() == c10::aten::conv_transpose2d;
  if (!general && !of_images && node.kind() != c10::aten::conv_transpose1d) return {};
  if (IsTransposedConvolution(node) != true) return {};
  const c10::IValue *weight = ConstantOf(*node.input(1)), *bias = ConstantOf(*node.input(2));
  if (weight == nullptr || !weight->isTensor() || !IsUsable(weight->toTensor())) return {};
  if (bias == nullptr || (bias->isTensor() ? !IsUsable(bias->toTensor()) : !bias->isNone())) return {};
  const auto spatial = static_cast<size_t>(weight->toTensor().dim()) - 2;
  if (general ? spatial != 1 && spatial != 2 : spatial != (of_images ? 2u : 1u)) return {};
  const auto stride = SettingOf(*node.input(3), spatial, 1), padding = SettingOf(*node.input(4), spatial, 0),
             dilation = SettingOf(*node.input(general ? 5 : 7), spatial, 1),
             output_padding = SettingOf(*node.input(general ? 7 : 5), spatial, 0);
  const c10::IValue* groups = ConstantOf(*node.input(general ? 8 : 6));
  if (!stride || !padding || !dilation || !output_padding || groups == nullptr || groups->toInt() != 1) return {};
  if (bias->isTensor() && bias->toTensor().sizes() != weight->toTensor().sizes().slice(1, 1)) return {};
  for (size_t side = 0; side < spatial; ++side) {
    if ((*dilation)[side] != 1 || (*output_padding)[side] >= (*stride)[side]) return {};
  }
  TransposedConvolutionCall call{
      weight->toTensor(), bias->isTensor() ? bias->toTensor() : at::Tensor(), *padding, *output_padding, *stride,
      spatial == 1};
  if (call.of_sequences) {
    const at::NoGradGuard no_gradients;
    call.weight = call.weight.detach().unsqueeze(2);
    call.padding.insert(call.padding.begin(), 0);
    call.output_padding.insert(call.output_padding.begin(), 0);
    call.stride.insert(call.stride.begin(), 1);
  }
  return call;
}

}  // namespace hearth
