#include "jit/definitions/convolution_call.h"

#include <algorithm>

#include "jit/definitions/node_effects.h"
#include "jit/definitions/value_facts.h"
#include "jit/operators/operator.h"

namespace hearth {
namespace {

bool IsUsable(const at::Tensor& tensor) {
  return tensor.defined() && IsPlain(tensor) && tensor.numel() > 0 && tensor.is_non_overlapping_and_dense();
}

// Two of a setting, of which one may stand for both, each at least `least`.
std::optional<std::vector<int64_t>> PairOf(const Value& value, int64_t least) {
  const c10::IValue* constant = ConstantOf(value);
  if (constant == nullptr || !constant->isIntList()) return {};
  std::vector<int64_t> pair = constant->toIntVector();
  if (pair.size() == 1) pair.push_back(pair.front());
  const bool fits = pair.size() == 2 && std::ranges::all_of(pair, [&](int64_t number) { return number >= least; });
  return fits ? std::optional(pair) : std::nullopt;
}

}  // namespace

std::optional<ConvolutionCall> ConvolutionCall::Of(const Node& node) {
  if (node.op() == nullptr || !node.op()->schema().overload_name().empty()) return {};
  const bool general = node.kind() == c10::aten::_convolution;
  if (!general && node.kind() != c10::aten::conv2d) return {};
  if (general) {
    const c10::IValue* transposed = ConstantOf(*node.input(6));
    if (transposed == nullptr || !transposed->isBool() || transposed->toBool()) return {};
  }
  const c10::IValue* weight = ConstantOf(*node.input(1));
  const c10::IValue* bias = ConstantOf(*node.input(2));
  if (weight == nullptr || !weight->isTensor() || !IsUsable(weight->toTensor()) || weight->toTensor().dim() != 4) {
    return {};
  }
  const int64_t outputs = weight->toTensor().size(0);
  if (bias == nullptr || (bias->isTensor() ? !IsUsable(bias->toTensor()) : !bias->isNone())) return {};
  const auto stride = PairOf(*node.input(3), 1), padding = PairOf(*node.input(4), 0),
             dilation = PairOf(*node.input(5), 1);
  const c10::IValue* groups = ConstantOf(*node.input(general ? 8 : 6));
  if (!stride || !padding || !dilation || groups == nullptr || !groups->isInt()) return {};
  if (groups->toInt() < 1 || outputs % groups->toInt() != 0) return {};
  return ConvolutionCall{weight->toTensor(), *padding, *stride, *dilation, groups->toInt()};
}

}  // namespace hearth
