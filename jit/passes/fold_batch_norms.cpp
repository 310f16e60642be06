#include "jit/passes/fold_batch_norms.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/zeros_like.h>

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "jit/analysis/node_effects.h"
#include "jit/analysis/value_facts.h"
#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"
#include "jit/passes/derived_constants.h"

namespace hearth {
namespace {

const Symbol kBatchNorm = Symbol::fromQualString("aten::batch_norm");
const Symbol kLinear = Symbol::fromQualString("aten::linear");
const Symbol kGeneralConvolution = Symbol::fromQualString("aten::_convolution");

bool IsLayer(const Node& node) {
  static const std::unordered_set<Symbol> kConvolutions = {Symbol::fromQualString("aten::conv1d"),
                                                           Symbol::fromQualString("aten::conv2d"),
                                                           Symbol::fromQualString("aten::conv3d")};
  if (node.kind() == kLinear || kConvolutions.count(node.kind()) != 0) return true;
  if (node.kind() != kGeneralConvolution) return false;
  const c10::IValue* transposed = ConstantOf(*node.input(6));
  return transposed != nullptr && transposed->isBool() && !transposed->toBool();
}

// Whether gradients may be recorded on the way, which the new weights would not take part in.
bool MayRecordGradients(const Block& block) {
  static const std::unordered_set<Symbol> kSymbols = {Symbol::fromQualString("aten::set_grad_enabled"),
                                                      Symbol::fromQualString("aten::grad"),
                                                      Symbol::fromQualString("aten::backward")};
  for (const Node* node : block) {
    if (kSymbols.count(node->kind()) != 0 || node->kind() == sym::kWith || EffectsOf(*node).calls) return true;
    for (const Block* nested : node->blocks()) {
      if (MayRecordGradients(*nested)) return true;
    }
  }
  return false;
}

// A constant tensor, an undefined one for None, or nothing if it is neither.
std::optional<at::Tensor> WeightOf(const Value& value) {
  const c10::IValue* constant = ConstantOf(value);
  if (constant == nullptr) return {};
  if (constant->isNone()) return at::Tensor();
  if (!constant->isTensor()) return {};
  return constant->toTensor();
}

struct Match {
  Node* layer;
  Node* norm;
  double epsilon;
  std::vector<at::Tensor> weights;  // weight, bias, gamma, beta, mean, variance; biases and gamma may be undefined
};

bool AreAlike(const std::vector<at::Tensor>& weights) {
  const at::Tensor& first = weights.front();
  if (!first.defined() || (first.scalar_type() != at::kFloat && first.scalar_type() != at::kDouble)) return false;
  const int64_t channels = first.dim() > 0 ? first.size(0) : 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const at::Tensor& weight = weights[i];
    if (!weight.defined()) continue;
    if (weight.layout() != at::kStrided || !weight.device().is_cpu() || weight.scalar_type() != first.scalar_type()) {
      return false;
    }
    if (i > 0 && (weight.dim() != 1 || weight.size(0) != channels)) return false;
  }
  return weights[4].defined() && weights[5].defined();
}

std::vector<at::Tensor> Folded(const Match& match) {
  const at::NoGradGuard no_gradients;
  const auto in_double = [&](size_t i) {
    const at::Tensor& weight = match.weights[i];
    return weight.defined() ? weight.detach().to(at::kDouble) : at::Tensor();
  };
  const at::Tensor weight = in_double(0), bias = in_double(1), gamma = in_double(2), beta = in_double(3);
  const at::Tensor mean = in_double(4), variance = in_double(5);
  at::Tensor scale = at::rsqrt(variance + match.epsilon);
  if (gamma.defined()) scale = scale * gamma;
  at::Tensor shift = (bias.defined() ? bias - mean : -mean) * scale;
  if (beta.defined()) shift = shift + beta;
  std::vector<int64_t> sizes(static_cast<size_t>(weight.dim()), 1);
  sizes[0] = weight.size(0);
  const at::ScalarType dtype = match.weights[0].scalar_type();
  return {(weight * scale.view(sizes)).to(dtype), shift.to(dtype)};
}

class Folder {
 public:
  Folder(Graph& graph, std::span<const ArgumentFacts> arguments, const UnitEffects* effects, DerivedConstants& derived)
      : graph_(graph), facts_(graph, arguments, effects), derived_(derived) {}

  bool Run() {
    facts_.InferAll();
    Find(*graph_.block());
    for (const Match& match : matches_) Fold(match);
    return !matches_.empty();
  }

 private:
  // A closure sees no constants from outside of it: what is in one stays.
  void Find(const Block& block) {
    for (Node* node : block) {
      if (node->kind() == kBatchNorm) TryMatch(node);
      if (node->kind() == sym::kFork || node->kind() == sym::kAwaitable) continue;
      for (const Block* nested : node->blocks()) Find(*nested);
    }
  }

  void TryMatch(Node* norm) {
    Node* layer = norm->input(0)->node();
    if (layer->op() == nullptr || !IsLayer(*layer)) return;
    if (layer->block() != norm->block() || layer->output()->uses().size() != 1) return;
    const c10::IValue* training = ConstantOf(*norm->input(5));
    const c10::IValue* epsilon = ConstantOf(*norm->input(7));
    if (training == nullptr || training->toBool() || epsilon == nullptr || !epsilon->isDouble()) return;
    Match match{layer, norm, epsilon->toDouble(), {}};
    for (const Value* value :
         {layer->input(1), layer->input(2), norm->input(1), norm->input(2), norm->input(3), norm->input(4)}) {
      const std::optional<at::Tensor> weight = WeightOf(*value);
      if (!weight) return;
      match.weights.push_back(*weight);
    }
    if (!AreAlike(match.weights)) return;
    const auto rank = static_cast<size_t>(match.weights[0].dim());
    if (facts_.Of(*layer->output()).rank() != rank) return;
    matches_.push_back(std::move(match));
  }

  void Fold(const Match& match) {
    const std::vector<at::Tensor> made =
        derived_.Get("batch norm " + std::to_string(std::bit_cast<uint64_t>(match.epsilon)), match.weights,
                     [&] { return Folded(match); });
    Value* weight = Constant(made[0], match.layer->input(1)->name(), match.layer->range());
    Value* bias = Constant(made[1], match.norm->input(2)->name(), match.norm->range());
    match.layer->ReplaceInput(1, weight);
    match.layer->ReplaceInput(2, bias);
    match.norm->output()->ReplaceAllUsesWith(match.layer->output());
    match.norm->Destroy();
  }

  Value* Constant(const at::Tensor& tensor, const std::string& name, const SourceRange& range) {
    Node* node = graph_.Create(sym::kConstant);
    node->SetAttribute(sym::kValueAttr, c10::IValue(tensor));
    node->output()->SetType(c10::TensorType::get());
    if (!name.empty()) node->output()->SetName(name + ".folded");
    node->SetRange(range);
    graph_.block()->Prepend(node);
    return node->output();
  }

  Graph& graph_;
  ValueFactTable facts_;
  DerivedConstants& derived_;
  std::vector<Match> matches_;
};

}  // namespace

bool FoldBatchNorms(Graph& graph, std::span<const ArgumentFacts> arguments, const UnitEffects* effects,
                    DerivedConstants& derived) {
  if (MayRecordGradients(*graph.block())) return false;
  return Folder(graph, arguments, effects, derived).Run();
}

}  // namespace hearth
