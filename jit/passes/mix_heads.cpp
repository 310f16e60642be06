#include "jit/passes/mix_heads.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "jit/analysis/number_of.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/analysis/visible_strides.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/constant_tensor.h"
#include "jit/definitions/convolution_call.h"
#include "jit/definitions/definition.h"
#include "jit/graph_edits/inferring_edits.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/closure.h"
#include "jit/weights/bias_column.h"
#include "jit/weights/derived_constants.h"

namespace hearth {
namespace {

constexpr int64_t kMostHeads = 32;
// From a product to the layer that mixes its heads: a scale, a bias, a view of another such product, a softmax.
constexpr int kMostBetween = 8;

// A layer that can be replaced: what it is made of, and what its result goes by in the end.
struct Mix {
  Value* scores;
  at::Tensor weight;  // [heads of the result, heads], perhaps of one pixel
  Value* bias;        // a constant tensor, or None
  Node* first;
  Node* last;
};

bool Permutes(const Node& node, const std::vector<int64_t>& dims) {
  return node.kind() == c10::aten::permute && IntegersOf(*node.input(1)) == dims;
}

class HeadMixer {
 public:
  explicit HeadMixer(Compilation& compilation)
      : graph_(compilation.graph()),
        facts_(compilation.facts()),
        edits_(graph_, compilation.facts()),
        derived_(*compilation.weights()) {}

  bool Run() {
    Walk(*graph_.block());
    return changed_;
  }

 private:
  void Walk(Block& block) {
    std::vector<Node*> nodes;
    for (Node* node : block) nodes.push_back(node);
    for (Node* node : nodes) {
      if (IsClosure(*node)) continue;
      for (Block* nested : node->blocks()) Walk(*nested);
      std::optional<Mix> mix = LinearOf(node);
      if (!mix) mix = ConvolutionOf(node);
      if (mix && Suits(*mix)) Replace(*mix);
    }
  }

  // `last`: the permutation back, which alone uses the layer.
  std::optional<Mix> LinearOf(Node* last) const {
    if (last->op() == nullptr || !Permutes(*last, {0, 3, 1, 2})) return {};
    Node* const layer = last->input(0)->node();
    if (layer->kind() != c10::aten::linear || layer->op() == nullptr || layer->output()->uses().size() != 1) return {};
    Node* const before = layer->input(0)->node();
    const at::Tensor* weight = ConstantTensor(*layer->input(1));
    if (!Permutes(*before, {0, 2, 3, 1}) || weight == nullptr || weight->dim() != 2) return {};
    if (OrderMayShow(*last->output(), facts_)) return {};
    return Mix{before->input(0), *weight, layer->input(2), layer, last};
  }

  std::optional<Mix> ConvolutionOf(Node* layer) const {
    const std::optional<ConvolutionCall> call = ConvolutionCall::Of(*layer);
    if (!call || !call->IsOfPixels() || !ComesOfProduct(*layer->input(0))) return {};
    return Mix{layer->input(0), call->weight, layer->input(2), layer, layer};
  }

  bool ComesOfProduct(const Value& value) const {
    const Value* from = &value;
    for (int i = 0; i < kMostBetween; ++i) {
      const Node& node = *from->node();
      if (node.kind() == c10::aten::matmul) return true;
      const bool follows = DefinitionOf(node.kind()).kind == OperatorClass::kPointwise ||
                           node.kind() == c10::aten::softmax || node.kind() == c10::aten::view;
      if (!follows || node.op() == nullptr || node.inputs().empty()) return false;
      from = node.input(0);
    }
    return false;
  }

  bool Suits(const Mix& mix) const {
    const ValueFacts& scores = facts_.Of(*mix.scores);
    if (!scores.is_tensor() || !scores.plain || scores.rank() != 4u || scores.dtype != c10::kFloat) return false;
    if (!scores.device || !scores.device->is_cpu() || !scores.order.is_default()) return false;
    if (!IsPlainOnCpu(mix.weight, c10::kFloat) || std::max(mix.weight.size(0), mix.weight.size(1)) > kMostHeads)
      return false;
    const KnownSizes& sizes = *scores.sizes;
    const auto has_several = [](KnownSize size) { return size.value_or(0) > 1; };
    if (sizes[1].value_or(0) != mix.weight.size(1) || !has_several(sizes[2]) || !has_several(sizes[3])) return false;
    const c10::IValue* bias = ConstantOf(*mix.bias);
    if (bias == nullptr) return false;
    const at::Tensor* given = ConstantTensor(*mix.bias);
    return bias->isNone() || (given != nullptr && IsPlainOnCpu(*given, c10::kFloat) &&
                              given->sizes() == at::IntArrayRef{mix.weight.size(0)});
  }

  void Replace(const Mix& mix) {
    const int64_t heads = mix.weight.size(0);
    const KnownSizes sizes = *facts_.Of(*mix.scores).sizes;
    const std::vector<at::Tensor> weight = derived_.Get("weight of heads", {mix.weight}, [&] {
      const at::NoGradGuard no_gradients;
      return std::vector<at::Tensor>{mix.weight.detach().contiguous().view({1, heads, mix.weight.size(1)})};
    });
    if (weight.empty()) return;
    const at::Tensor* bias = ConstantTensor(*mix.bias);
    const std::optional<at::Tensor> column = bias == nullptr ? std::nullopt : BiasColumn(*bias, derived_);
    if (bias != nullptr && !column) return;
    const InsertionGuard here(&graph_, mix.first);
    graph_.SetCurrentRange(mix.first->range());
    const auto make = [&](Symbol kind, const char* overload, std::initializer_list<Value*> inputs) {
      return edits_.Infer(Operate(graph_, kind, overload, inputs, mix.first));
    };
    Value* rows =
        make(c10::aten::flatten, "using_ints", {mix.scores, edits_.Constant(int64_t{2}), edits_.Constant(int64_t{3})});
    Value* mixed = make(c10::aten::matmul, "", {edits_.Constant(weight.front()), rows});
    if (column) {
      mixed = make(c10::aten::add, "Tensor", {mixed, edits_.Constant(*column), edits_.Constant(int64_t{1})});
    }
    const std::vector<int64_t> asked = {sizes[0].value_or(-1), heads, *sizes[2], *sizes[3]};
    Value* result = make(c10::aten::view, "", {mixed, edits_.Constant(c10::IValue(asked))});
    result->SetName(mix.last->output()->name());
    mix.last->output()->ReplaceAllUsesWith(result);
    mix.last->Destroy();
    if (mix.first != mix.last) mix.first->Destroy();
    changed_ = true;
  }

  Graph& graph_;
  ValueFactTable& facts_;
  const InferringEdits edits_;
  DerivedConstants& derived_;
  bool changed_ = false;
};

}  // namespace

bool MixHeads(Compilation& compilation) { return compilation.weights() != nullptr && HeadMixer(compilation).Run(); }

}  // namespace hearth
