#include "jit/passes/fold_batch_norms.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/rsqrt.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "jit/analysis/joined_list.h"
#include "jit/analysis/number_of.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/analysis/visible_strides.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/channel_constant.h"
#include "jit/definitions/convolution_call.h"
#include "jit/definitions/fact_rules.h"
#include "jit/definitions/node_effects.h"
#include "jit/definitions/scalar_rules.h"
#include "jit/graph_edits/derived_weight.h"
#include "jit/graph_edits/inferring_edits.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"
#include "jit/weights/derived_constants.h"

namespace hearth {
namespace {

bool IsLayer(const Node& node) { return node.kind() == c10::aten::linear || IsTransposedConvolution(node) == false; }

// Whether it is a transposed convolution of one group, whose weight has the results' channels second.
bool IsTransposedLayer(const Node& node) {
  if (IsTransposedConvolution(node) != true) return false;
  const bool general = node.kind() == c10::aten::_convolution || node.kind() == c10::aten::convolution;
  const std::optional<int64_t> groups = IntegerOf(*node.input(general ? 8 : 6));
  return groups == 1;
}

bool AsksForShape(const Use& use) {
  const Symbol kind = use.user->kind();
  const bool takes_shape = kind == c10::aten::reshape_as || kind == c10::aten::view_as || kind == c10::aten::expand_as;
  return ReadsShapeOnly(kind) || (takes_shape && use.offset == 1);
}

// Whether nobody but `user` sees what is in it; its shape stays as it is.
bool IsOnlyFor(const Value& value, const Node& user) {
  return std::ranges::all_of(
      value.uses(), [&](const Use& use) { return (use.user == &user && use.offset == 0) || AsksForShape(use); });
}

// A constant tensor, an undefined one for None, or nothing if it is neither.
std::optional<at::Tensor> WeightOf(const Value& value) {
  const c10::IValue* constant = ConstantOf(value);
  if (constant == nullptr) return {};
  if (constant->isNone()) return at::Tensor();
  if (!constant->isTensor()) return {};
  return constant->toTensor();
}

// What happens to a layer's result per channel: y * scale + shift. Undefined: 1 and 0.
struct Affine {
  at::Tensor scale;
  at::Tensor shift;
};

// A node that does that, with constants.
struct Step {
  std::string purpose;                                           // all that the numbers depend on beside the parameters
  std::vector<at::Tensor> parameters;                            // some may be undefined
  std::function<Affine(const std::vector<at::Tensor>&)> affine;  // of the parameters in double precision
};

std::optional<Step> StepOfNorm(const Node& norm, int64_t channels) {
  const c10::IValue* training = ConstantOf(*norm.input(5));
  const c10::IValue* given = ConstantOf(*norm.input(7));
  if (training == nullptr || training->toBool() || given == nullptr || !given->isDouble()) return {};
  const double epsilon = given->toDouble();
  Step step{"batch norm " + std::to_string(std::bit_cast<uint64_t>(epsilon)), {}, {}};
  for (size_t i = 1; i < 5; ++i) {
    const std::optional<at::Tensor> weight = WeightOf(*norm.input(i));
    if (!weight || (weight->defined() && (weight->dim() != 1 || weight->size(0) != channels))) return {};
    step.parameters.push_back(*weight);
  }
  if (!step.parameters[2].defined() || !step.parameters[3].defined()) return {};
  step.affine = [epsilon](const std::vector<at::Tensor>& parameters) {
    at::Tensor scale = at::rsqrt(parameters[3] + epsilon);
    if (parameters[0].defined()) scale = scale * parameters[0];
    at::Tensor shift = -parameters[2] * scale;
    if (parameters[1].defined()) shift = shift + parameters[1];
    return Affine{scale, shift};
  };
  return step;
}

// A norm that is written out: a product or sum with a constant.
std::optional<Step> StepOfArithmetic(const Node& node, int64_t rank, int64_t channels) {
  const std::optional<at::Tensor> constant = WeightOf(*node.input(1));
  if (!constant || !constant->defined() || !IsPerChannel(*constant, rank, channels)) return {};
  if (node.kind() == c10::aten::mul) {
    return Step{"mul", {*constant}, [](const auto& parameters) { return Affine{parameters[0].reshape({-1}), {}}; }};
  }
  const c10::IValue* alpha = ConstantOf(*node.input(2));
  if (alpha == nullptr || !alpha->isInt() || alpha->toInt() != 1) return {};
  return Step{"add", {*constant}, [](const auto& parameters) { return Affine{{}, parameters[0].reshape({-1})}; }};
}

// The weight's dimension `channels` is that of the step.
std::vector<at::Tensor> Folded(const at::Tensor& old_weight, const at::Tensor& old_bias, size_t channels,
                               const Step& step) {
  const at::NoGradGuard no_gradients;
  const auto in_double = [](const at::Tensor& weight) {
    return weight.defined() ? weight.detach().to(at::kDouble) : at::Tensor();
  };
  std::vector<at::Tensor> parameters;
  for (const at::Tensor& parameter : step.parameters) parameters.push_back(in_double(parameter));
  const auto [scale, shift] = step.affine(parameters);
  at::Tensor weight = in_double(old_weight), bias = in_double(old_bias);
  if (scale.defined()) {
    std::vector<int64_t> sizes(static_cast<size_t>(weight.dim()), 1);
    sizes[channels] = scale.numel();
    weight = weight * scale.view(sizes);
    if (bias.defined()) bias = bias * scale;
  }
  if (shift.defined()) bias = bias.defined() ? bias + shift : shift;
  const at::ScalarType dtype = old_weight.scalar_type();
  return {weight.to(dtype), bias.defined() ? bias.to(dtype) : at::Tensor()};
}

class BatchNormFolder {
 public:
  explicit BatchNormFolder(Compilation& compilation)
      : target_(compilation.target()),
        graph_(compilation.graph()),
        facts_(compilation.facts()),
        edits_(graph_, facts_),
        derived_(*compilation.weights()),
        has_kernels_(compilation.inputs().kernels != nullptr) {}

  bool Run() {
    Walk(graph_.block());
    return changed_;
  }

 private:
  // A closure sees no constants from outside of it: what is in one stays.
  void Walk(Block* block) {
    for (Node* node : *block) {
      const Symbol kind = node->kind();
      if (IsTask(*node)) continue;
      for (Block* nested : node->blocks()) Walk(nested);
      if (kind != c10::aten::batch_norm && kind != c10::aten::mul && kind != c10::aten::add) continue;
      if (kind != c10::aten::batch_norm || !TrySplit(node)) FoldOrSpellOut(node);
    }
  }

  void FoldOrSpellOut(Node* node) {
    if (!TryFold(node) && node->kind() == c10::aten::batch_norm && has_kernels_) TrySpellOut(node);
  }

  // The linear layer whose rows a norm gets as a matrix, or null.
  Node* LayerBeforeRows(const Node& norm) const {
    const Node& view = *norm.input(0)->node();
    if (norm.kind() != c10::aten::batch_norm || view.kind() != c10::aten::flatten || view.op() == nullptr)
      return nullptr;
    Node* layer = view.input(0)->node();
    if (layer->kind() != c10::aten::linear || view.block() != norm.block()) return nullptr;
    const ValueFacts &rows = facts_.Of(*view.output()), &given = facts_.Of(*layer->output());
    if (rows.rank() != 2u || !given.sizes || given.sizes->empty() || !given.sizes->back()) return nullptr;
    const bool keeps_rows = rows.sizes->back() == given.sizes->back();
    return keeps_rows && IsOnlyFor(*view.output(), norm) && IsOnlyFor(*layer->output(), view) ? layer : nullptr;
  }

  bool TryFold(Node* node) {
    Node* rows_of = LayerBeforeRows(*node);
    Node* layer = rows_of != nullptr ? rows_of : node->input(0)->node();
    if (layer->op() == nullptr || layer->block() != node->block()) return false;
    const bool is_transposed = IsTransposedLayer(*layer);
    if (!is_transposed && !IsLayer(*layer)) return false;
    if (rows_of == nullptr && !IsOnlyFor(*layer->output(), *node)) return false;
    const std::optional<at::Tensor> weight = WeightOf(*layer->input(1)), bias = WeightOf(*layer->input(2));
    if (!weight || !weight->defined() || weight->dim() < 2 || !bias) return false;
    const int64_t rank = weight->dim(), channels = weight->size(is_transposed ? 1 : 0);
    if (facts_.Of(*node->input(0)).rank() != static_cast<size_t>(rank)) return false;
    const std::optional<Step> step =
        node->kind() == c10::aten::batch_norm ? StepOfNorm(*node, channels) : StepOfArithmetic(*node, rank, channels);
    const auto is_like_weight = [&](const at::Tensor& tensor) {
      return !tensor.defined() ||
             (IsPlain(tensor) && tensor.scalar_type() == weight->scalar_type() && tensor.device() == weight->device());
    };
    if (!step || !IsPlain(*weight) || !target_.FoldsWeights(weight->device(), weight->scalar_type())) return false;
    if (!is_like_weight(*bias) || !std::ranges::all_of(step->parameters, is_like_weight)) return false;
    return Fold(layer, node, *weight, *bias, is_transposed ? 1 : 0, *step);
  }

  struct Part {
    Node* layer;
    int64_t channels;
  };

  // The layers whose channels a norm gets one behind the other; none if something else is among them, or used by
  // others.
  std::vector<Part> JoinedLayers(const Node& norm) const {
    const Node& join = *norm.input(0)->node();
    const Node* list = JoinedList(join);
    const std::optional<size_t> rank = facts_.Of(*join.output()).rank();
    if (list == nullptr || join.block() != norm.block() || !rank || *rank < 2 ||
        Dimension(IntegerOf(*join.input(1)), *rank) != 1u || join.output()->uses().size() != 1 ||
        list->output()->uses().size() != 1)
      return {};
    std::vector<Part> parts;
    for (const Value* input : list->inputs()) {
      Node* layer = input->node();
      if (layer->op() == nullptr || !IsLayer(*layer) || layer->block() != norm.block() || input->uses().size() != 1)
        return {};
      const std::optional<at::Tensor> weight = WeightOf(*layer->input(1));
      if (!weight || !weight->defined() || weight->dim() != static_cast<int64_t>(*rank) ||
          !target_.FoldsWeights(weight->device(), weight->scalar_type()))
        return {};
      parts.push_back({layer, weight->size(0)});
    }
    return parts;
  }

  // Scale, shift, mean and variance of some of a norm's channels; none if there is no room for them.
  std::vector<at::Tensor> PartOfParameters(const Node& norm, int64_t begin, int64_t count) {
    std::vector<at::Tensor> all;
    for (size_t i = 1; i < 5; ++i) all.push_back(*WeightOf(*norm.input(i)));
    return derived_.Get("channels " + std::to_string(begin) + " to " + std::to_string(begin + count), all, [&] {
      const at::NoGradGuard no_gradients;
      std::vector<at::Tensor> part;
      for (const at::Tensor& parameter : all) {
        part.push_back(parameter.defined() ? parameter.detach().narrow(0, begin, count).clone() : at::Tensor());
      }
      return part;
    });
  }

  // A norm of what several layers give, joined, is joined norms of these.
  bool TrySplit(Node* norm) {
    const std::vector<Part> parts = JoinedLayers(*norm);
    int64_t channels = 0;
    for (const Part& part : parts) channels += part.channels;
    if (parts.empty() || !StepOfNorm(*norm, channels)) return false;
    std::vector<std::vector<at::Tensor>> parameters;
    int64_t begin = 0;
    for (const Part& part : parts) {
      parameters.push_back(PartOfParameters(*norm, begin, part.channels));
      if (parameters.back().empty()) return false;
      begin += part.channels;
    }

    Node* join = norm->input(0)->node();
    Node* list = join->input(0)->node();
    const InsertionGuard here(&graph_, norm);
    graph_.SetCurrentRange(norm->range());
    std::vector<Value*> normed;
    for (size_t i = 0; i < parts.size(); ++i) {
      std::vector<Value*> operands(norm->inputs().begin(), norm->inputs().end());
      operands[0] = parts[i].layer->output();
      for (size_t at = 1; at < 5; ++at) {
        const at::Tensor& parameter = parameters[i][at - 1];
        if (parameter.defined()) operands[at] = graph_.InsertConstant(parameter);
      }
      normed.push_back(OperateLike(graph_, *norm, operands));
    }
    Node* joined_list = graph_.Insert(graph_.Create(sym::kListConstruct, std::span<Value* const>(normed), 1));
    joined_list->output()->SetType(list->output()->type());
    Value* joined = OperateLike(graph_, *join, std::vector<Value*>{joined_list->output(), join->input(1)});
    joined->SetName(norm->output()->name());
    norm->output()->ReplaceAllUsesWith(joined);
    for (Node* replaced : {norm, join, list}) replaced->Destroy();
    for (Value* value : normed) FoldOrSpellOut(value->node());
    return changed_ = true;
  }

  // A norm that no layer before it takes is a product and a sum, which kernels have beside what follows. Of numbers of
  // less precision both are in float32, as in LibTorch's kernels, and the result is rounded once.
  void TrySpellOut(Node* node) {
    const ValueFacts& input = facts_.Of(*node->input(0));
    if (!input.is_tensor() || !input.plain || !IsComputedInFloat(input.dtype) || !input.device || !input.sizes ||
        input.sizes->size() < 2)
      return;
    // A product has its operand's order, a norm's result the one that suits images.
    const bool keeps_order = input.order.is_default() || input.order.has_channels_last();
    if (!keeps_order && OrderMayShow(*node->output(), facts_)) return;
    const std::optional<at::Tensor> mean = WeightOf(*node->input(3));
    // Otherwise LibTorch raises.
    if (!mean || !mean->defined() || mean->dim() != 1 || (*input.sizes)[1] != KnownSize(mean->size(0))) return;
    const std::optional<Step> step = StepOfNorm(*node, mean->size(0));
    const auto is_as_expected = [&](const at::Tensor& tensor) {
      return !tensor.defined() ||
             (IsPlain(tensor) && (tensor.scalar_type() == at::kFloat || tensor.scalar_type() == input.dtype));
    };
    if (!step || !std::ranges::all_of(step->parameters, is_as_expected)) return;
    std::vector<int64_t> sizes(input.sizes->size() - 1, 1);
    sizes[0] = mean->size(0);
    const std::string purpose = step->purpose + " spelt out " + std::to_string(sizes.size());
    const std::vector<at::Tensor> made = derived_.Get(purpose, step->parameters, [&] {
      const at::NoGradGuard no_gradients;
      std::vector<at::Tensor> parameters;
      for (const at::Tensor& parameter : step->parameters) {
        parameters.push_back(parameter.defined() ? parameter.detach().to(at::kDouble) : at::Tensor());
      }
      const auto [scale, shift] = step->affine(parameters);
      return std::vector{scale.to(at::kFloat).view(sizes), shift.to(at::kFloat).view(sizes)};
    });
    if (made.empty()) return;
    const InsertionGuard here(&graph_, node);
    graph_.SetCurrentRange(node->range());
    const c10::ScalarType dtype = *input.dtype;
    Value* scale = edits_.Constant(made[0]);
    Value* shift = edits_.Constant(made[1]);
    Value* one = edits_.Constant(int64_t{1});
    Value* scaled = edits_.Infer(Operate(graph_, c10::aten::mul, "Tensor", {node->input(0), scale}, node));
    Value* shifted = edits_.Infer(Operate(graph_, c10::aten::add, "Tensor", {scaled, shift, one}, node));
    Value* normed = edits_.InDtype(shifted, dtype, node);
    normed->SetName(node->output()->name());
    node->output()->ReplaceAllUsesWith(normed);
    node->Destroy();
    changed_ = true;
  }

  // `channels`: which dimension of the weight they are.
  bool Fold(Node* layer, Node* node, const at::Tensor& weight, const at::Tensor& bias, size_t channels,
            const Step& step) {
    std::vector<at::Tensor> from = {weight, bias};
    from.insert(from.end(), step.parameters.begin(), step.parameters.end());
    const std::vector<at::Tensor> made = derived_.Get(step.purpose + " along " + std::to_string(channels), from,
                                                      [&] { return Folded(weight, bias, channels, step); });
    if (made.empty()) return false;
    layer->ReplaceInput(1, PrependWeight(graph_, made[0], layer->input(1)->name(), ".folded", layer->range()));
    if (made[1].defined()) layer->ReplaceInput(2, PrependWeight(graph_, made[1], {}, ".folded", node->range()));
    node->output()->ReplaceAllUsesWith(node->input(0));
    node->Destroy();
    return changed_ = true;
  }

  const Target& target_;
  Graph& graph_;
  ValueFactTable& facts_;
  const InferringEdits edits_;
  DerivedConstants& derived_;
  const bool has_kernels_;
  bool changed_ = false;
};

}  // namespace

bool FoldBatchNorms(Compilation& compilation) { return BatchNormFolder(compilation).Run(); }

}  // namespace hearth
