#include "jit/passes/spread_convolutions.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/constant_pad_nd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <ranges>
#include <string>
#include <vector>

#include "jit/analysis/value_fact_table.h"
#include "jit/analysis/visible_strides.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/convolution_call.h"
#include "jit/graph_edits/inferring_edits.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"
#include "jit/weights/derived_constants.h"

namespace hearth {
namespace {

using Pair = std::vector<int64_t>;  // of the height and the width

// The convolution that is spread, and what of the pixels is not the transposed one's, at each end.
struct SpreadCall {
  Pair padding = {0, 0}, first = {0, 0}, last = {0, 0};
};

// How many of the weights along a side go into one pixel.
int64_t TapsOf(const TransposedConvolutionCall& call, size_t side) {
  const int64_t size = call.weight.size(static_cast<int64_t>(side) + 2), stride = call.stride[side];
  return (size + stride - 1) / stride;
}

// Nothing where pixels beyond the kernel's reach are asked for.
std::optional<SpreadCall> SpreadCallOf(const TransposedConvolutionCall& call) {
  SpreadCall spread;
  for (size_t side = 0; side < 2; ++side) {
    const int64_t size = call.weight.size(static_cast<int64_t>(side) + 2), stride = call.stride[side];
    const int64_t padding = call.padding[side], taps = TapsOf(call, side);
    // Strides that are cut off at both ends need not be computed.
    int64_t cut = std::min(padding / stride, taps - 1);
    const auto last = [&] { return stride * (taps - cut) + padding - size - call.output_padding[side]; };
    while (cut > 0 && last() < 0) --cut;
    if (last() < 0) return {};
    spread.padding[side] = taps - 1 - cut;
    spread.first[side] = padding - stride * cut;
    spread.last[side] = last();
  }
  return spread;
}

// [height of the stride * width of the stride * out, in, taps, taps].
at::Tensor SpreadWeight(const TransposedConvolutionCall& call) {
  const at::NoGradGuard no_gradients;
  const at::Tensor weight = call.weight.detach();
  const int64_t rows = TapsOf(call, 0), columns = TapsOf(call, 1), down = call.stride[0], along = call.stride[1];
  const std::array<int64_t, 4> missing = {0, columns * along - weight.size(3), 0, rows * down - weight.size(2)};
  return at::constant_pad_nd(weight, missing)
      .reshape({weight.size(0), weight.size(1), rows, down, columns, along})
      .permute({3, 5, 1, 0, 2, 4})
      .flip({4, 5})
      .reshape({down * along * weight.size(1), weight.size(0), rows, columns})
      .contiguous();
}

class ConvolutionSpreader {
 public:
  explicit ConvolutionSpreader(Compilation& compilation)
      : target_(compilation.target()),
        graph_(compilation.graph()),
        facts_(compilation.facts()),
        edits_(graph_, compilation.facts()),
        derived_(*compilation.weights()) {}

  bool Run() {
    const std::vector<Node*> found = NodesOutsideClosures(
        *graph_.block(), [](const Node& node) { return TransposedConvolutionCall::Of(node).has_value(); });
    // The last one first: the order of what it is given shows no more then.
    for (Node* node : found | std::views::reverse) Replace(node);
    return changed_;
  }

 private:
  bool Suits(const Node& node, const TransposedConvolutionCall& call) const {
    const ValueFacts& image = facts_.Of(*node.input(0));
    if (!image.is_tensor() || !image.plain || !image.device || image.dtype != call.weight.scalar_type()) return false;
    if (image.rank() != (call.of_sequences ? 3u : 4u) || !image.device->is_cpu()) return false;
    return target_.PacksWeights(*image.device, *image.dtype);
  }

  void Replace(Node* node) {
    const TransposedConvolutionCall call = *TransposedConvolutionCall::Of(*node);
    const std::optional<SpreadCall> spread = SpreadCallOf(call);
    if (!spread || !Suits(*node, call)) return;
    const bool shows = OrderMayShow(*node->output(), facts_);
    if (shows && !facts_.Of(*node->output()).default_strides()) return;
    const std::string strides = " " + std::to_string(call.stride[0]) + " " + std::to_string(call.stride[1]);
    const auto weight =
        derived_.Get("spread weight" + strides, {call.weight}, [&] { return std::vector{SpreadWeight(call)}; });
    if (weight.empty()) return;
    std::vector<at::Tensor> bias;
    if (call.bias.defined()) {
      bias = derived_.Get("spread bias" + strides, {call.bias},
                          [&] { return std::vector{call.bias.detach().repeat(call.stride[0] * call.stride[1])}; });
      if (bias.empty()) return;
    }
    const InsertionGuard here(&graph_, node);
    graph_.SetCurrentRange(node->range());
    const auto infer = [&](Symbol symbol, std::initializer_list<Value*> operands) {
      return edits_.Infer(Operate(graph_, symbol, "", operands, node));
    };
    Value* image = node->input(0);
    if (call.of_sequences) image = infer(c10::aten::unsqueeze, {image, edits_.Constant(int64_t{2})});
    Value* made = infer(c10::aten::conv2d, {image, edits_.Constant(weight[0]),
                                            bias.empty() ? edits_.Constant(c10::IValue()) : edits_.Constant(bias[0]),
                                            edits_.Constant(Pair{1, 1}), edits_.Constant(spread->padding),
                                            edits_.Constant(Pair{1, 1}), edits_.Constant(int64_t{1})});
    const bool is_spread = call.stride != Pair{1, 1} || spread->first != Pair{0, 0} || spread->last != Pair{0, 0};
    if (is_spread) {
      made = infer(sym::kSpreadChannels,
                   {made, edits_.Constant(call.stride), edits_.Constant(spread->first), edits_.Constant(spread->last)});
    }
    if (call.of_sequences)
      made = edits_.Infer(Operate(graph_, c10::aten::squeeze, "dim", {made, edits_.Constant(int64_t{2})}, node));
    if (shows) {
      constexpr auto kDefault = static_cast<int64_t>(c10::MemoryFormat::Contiguous);
      made = infer(c10::aten::clone, {made, edits_.Constant(kDefault)});
    }
    made->SetName(node->output()->name());
    node->output()->ReplaceAllUsesWith(made);
    node->Destroy();
    changed_ = true;
  }

  const Target& target_;
  Graph& graph_;
  ValueFactTable& facts_;
  const InferringEdits edits_;
  DerivedConstants& derived_;
  bool changed_ = false;
};

}  // namespace

bool SpreadConvolutions(Compilation& compilation) {
  return compilation.weights() != nullptr && ConvolutionSpreader(compilation).Run();
}

}  // namespace hearth
