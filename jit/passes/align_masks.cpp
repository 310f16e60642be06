#include "jit/passes/align_masks.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "jit/analysis/number_of.h"
#include "jit/analysis/pure_nodes.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/definition.h"
#include "jit/definitions/node_effects.h"
#include "jit/graph_edits/inferring_edits.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"
#include "jit/operators/attention_operands.h"
#include "jit/operators/operator.h"

namespace hearth {
namespace {

constexpr int64_t kRowsComeIn = 8;
// Of operators on the way from a mask to what it is made of.
constexpr int kMostSteps = 16;

class MaskAligner {
 public:
  explicit MaskAligner(Compilation& compilation)
      : graph_(compilation.graph()),
        target_(compilation.target()),
        facts_(compilation.facts()),
        pure_(compilation.pure_nodes()),
        edits_(graph_, compilation.facts()) {}

  bool Run() {
    const std::vector<Node*> attentions = NodesOutsideClosures(*graph_.block(), [](const Node& node) {
      return node.kind() == c10::aten::scaled_dot_product_attention && node.op() != nullptr;
    });
    for (Node* attention : attentions) {
      if (const std::optional<int64_t> keys = KeysOf(*attention)) Align(attention, *keys);
    }
    return changed_;
  }

 private:
  // How long a row of the attention's mask is; null if it has none that a kernel may read.
  std::optional<int64_t> KeysOf(const Node& attention) const {
    const Value& mask = *attention.input(sdpa::kMask);
    const ValueFacts &facts = facts_.Of(mask), &query = facts_.Of(*attention.input(sdpa::kQuery));
    const bool suits = facts.is_tensor() && facts.plain && facts.device && facts.dtype && facts.sizes &&
                       facts.dtype == query.dtype && target_.FusesAttention(*facts.device, *facts.dtype) &&
                       facts.sizes->size() >= 2 && !facts_.memory().MayBeWritten(mask);
    if (!suits || !facts.sizes->back() || *facts.sizes->back() < 2) return {};
    return *facts.sizes->back();
  }

  void Align(Node* attention, int64_t keys) {
    Value* const mask = attention->input(sdpa::kMask);
    const bool is_longer = keys % kRowsComeIn != 0 && IsWorth(*mask, keys);
    if (!is_longer && !IsNestedOtherwise(*mask)) return;
    Value*& aligned = aligned_[mask];
    if (aligned == nullptr) {
      aligned = InRows(is_longer ? Longer(mask, keys, 0) : mask);
      const InsertionGuard here(&graph_, aligned->node()->next());
      graph_.SetCurrentRange(attention->range());
      if (is_longer) {
        aligned = edits_.Infer(Operate(graph_, c10::aten::slice, "Tensor",
                                       {aligned, edits_.Constant(int64_t{-1}), edits_.Constant(int64_t{0}),
                                        edits_.Constant(keys), edits_.Constant(int64_t{1})}));
      }
    }
    attention->ReplaceInput(sdpa::kMask, aligned);
    changed_ = true;
  }

  // Whether a row's numbers are known not to lie next to each other.
  bool IsNestedOtherwise(const Value& mask) const {
    const ValueFacts& facts = facts_.Of(mask);
    if (!facts.order.is_known()) return false;
    // Of dimensions of one number nobody sees where they are nested.
    std::vector<size_t> nesting = facts.order.Nesting(facts.sizes->size());
    while (!nesting.empty() && (*facts.sizes)[nesting.back()] == KnownSize(1)) nesting.pop_back();
    return !nesting.empty() && nesting.back() != facts.sizes->size() - 1;
  }

  Value* InRows(Value* mask) {
    if (!IsNestedOtherwise(*mask)) return mask;
    const InsertionGuard here(&graph_, mask->node()->next());
    graph_.SetCurrentRange(mask->node()->range());
    return edits_.Contiguous(mask);
  }

  // Whether less is copied than LibTorch copies.
  bool IsWorth(const Value& mask, int64_t keys) const {
    const auto is_attention = [](const Use& use) {
      return use.user->kind() == c10::aten::scaled_dot_product_attention;
    };
    return aligned_.contains(&mask) || std::ranges::count_if(mask.uses(), is_attention) > 1 ||
           PadsLess(mask, mask, keys, 0);
  }

  // Whether all that is padded for the value is constant, or less than the mask.
  bool PadsLess(const Value& value, const Value& mask, int64_t keys, int depth) const {
    if (ConstantOf(value) != nullptr) return true;
    if (depth == kMostSteps || !Follows(value, keys)) return IsLess(*facts_.Of(value).sizes, *facts_.Of(mask).sizes);
    const Node& node = *value.node();
    const auto pads_less = [&](const Value* input) {
      return !IsRow(*input, keys) || PadsLess(*input, mask, keys, depth + 1);
    };
    return std::ranges::all_of(node.inputs(), pads_less);
  }

  // Whether tensors of the first sizes are broadcast or repeated to the others.
  static bool IsLess(const KnownSizes& sizes, const KnownSizes& all) {
    if (sizes.size() != all.size()) return sizes.size() < all.size();
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] && (all[i] ? *sizes[i] < *all[i] : *sizes[i] == 1)) return true;
    }
    return false;
  }

  bool Follows(const Value& value, int64_t keys) const {
    const Node& node = *value.node();
    if (node.op() == nullptr || node.outputs().size() != 1 || !pure_.MayMove(node) || EffectsOf(node).any())
      return false;
    return IsElementwise(node, keys) || IsRepetition(node, keys) || KeepsRows(node, keys);
  }

  // Whether it is a tensor with a number for each key.
  bool IsRow(const Value& value, int64_t keys) const {
    const ValueFacts& facts = facts_.Of(value);
    return facts.is_tensor() && facts.sizes && !facts.sizes->empty() && facts.sizes->back() == KnownSize(keys);
  }

  // Whether its tensors have a number for each key, or one for all of them.
  bool IsElementwise(const Node& node, int64_t keys) const {
    const OperatorDefinition& definition = DefinitionOf(node.kind());
    const bool is_pointwise = definition.scalar != nullptr && (definition.kind == OperatorClass::kPointwise ||
                                                               definition.kind == OperatorClass::kConversion);
    if (!is_pointwise || !IsRow(*node.output(), keys)) return false;
    return std::ranges::all_of(node.inputs(), [&](const Value* input) {
      if (input->type()->kind() != c10::TypeKind::TensorType) return true;
      const ValueFacts& facts = facts_.Of(*input);
      if (!facts.is_tensor() || !facts.plain || !facts.sizes || facts_.memory().MayBeWritten(*input)) return false;
      return facts.sizes->empty() || facts.sizes->back() == KnownSize(1) || IsRow(*input, keys);
    });
  }

  // Of whole rows.
  bool IsRepetition(const Node& node, int64_t keys) const {
    if (node.kind() != c10::aten::repeat || facts_.memory().MayBeWritten(*node.input(0))) return false;
    if (!IsRow(*node.input(0), keys)) return false;
    const Node& times = *node.input(1)->node();
    return times.kind() == sym::kListConstruct && !times.inputs().empty() &&
           NumberOf(*times.inputs().back(), facts_.memory()) == 1;
  }

  // Whether its second operand says all sizes of what it gives.
  static bool Resizes(const Node& node) {
    return node.kind() == c10::aten::view || node.kind() == c10::aten::reshape || node.kind() == c10::aten::expand;
  }

  // Whether it gives the tensor's elements in other sizes, but for the rows.
  bool KeepsRows(const Node& node, int64_t keys) const {
    const Symbol kind = node.kind();
    const bool resizes = Resizes(node);
    const bool picks = kind == c10::aten::unsqueeze || kind == c10::aten::select;
    if ((!resizes && !picks) || facts_.memory().MayBeWritten(*node.input(0))) return false;
    if (!IsRow(*node.input(0), keys) || !IsRow(*node.output(), keys)) return false;
    const c10::IValue* argument = ConstantOf(*node.input(1));
    if (argument == nullptr) return false;
    if (resizes) return argument->isIntList() && argument->toIntVector().back() == keys;
    const auto rank = static_cast<int64_t>(facts_.Of(*node.input(0)).sizes->size());
    const int64_t dimension = argument->isInt() ? argument->toInt() : rank;
    if (kind == c10::aten::unsqueeze) return dimension < rank && dimension != -1;
    return dimension < rank - 1 && dimension != -1;
  }

  // With numbers that nobody reads behind each row, up to where the next one may begin.
  Value* Longer(Value* value, int64_t keys, int depth) {
    if (const auto made = longer_.find(value); made != longer_.end()) return made->second;
    Node* const node = value->node();
    const bool follows = depth < kMostSteps && ConstantOf(*value) == nullptr && Follows(*value, keys);
    std::vector<Value*> inputs;
    if (follows) inputs.assign(node->inputs().begin(), node->inputs().end());
    for (Value*& input : inputs) {
      if (IsRow(*input, keys)) input = Longer(input, keys, depth + 1);
    }
    const InsertionGuard here(&graph_, node->next());
    graph_.SetCurrentRange(node->range());
    if (!follows) return longer_[value] = Padded(value, keys);
    if (Resizes(*node)) {
      std::vector<int64_t> sizes = ConstantOf(*inputs[1])->toIntVector();
      sizes.back() = LongerRow(keys);
      inputs[1] = edits_.Constant(sizes);
    }
    return longer_[value] = edits_.Infer(OperateLike(graph_, *node, inputs));
  }

  static int64_t LongerRow(int64_t keys) { return (keys + kRowsComeIn - 1) / kRowsComeIn * kRowsComeIn; }

  Value* Padded(Value* value, int64_t keys) {
    const std::vector<int64_t> padding{0, LongerRow(keys) - keys};
    return edits_.Infer(Operate(graph_, c10::aten::constant_pad_nd, "",
                                {value, edits_.Constant(padding), edits_.Constant(int64_t{0})}));
  }

  Graph& graph_;
  const Target& target_;
  ValueFactTable& facts_;
  const PureNodes& pure_;
  const InferringEdits edits_;
  std::unordered_map<const Value*, Value*> longer_;
  std::unordered_map<const Value*, Value*> aligned_;  // by mask
  bool changed_ = false;
};

}  // namespace

bool AlignMasks(Compilation& compilation) { return MaskAligner(compilation).Run(); }

}  // namespace hearth
