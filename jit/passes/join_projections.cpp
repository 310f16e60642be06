#include "jit/passes/join_projections.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "jit/analysis/value_fact_table.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/constant_tensor.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"
#include "jit/weights/derived_constants.h"
#include "jit/weights/joined_rows.h"

namespace hearth {
namespace {

class ProjectionJoiner {
 public:
  explicit ProjectionJoiner(Compilation& compilation)
      : target_(compilation.target()),
        graph_(compilation.graph()),
        facts_(compilation.facts()),
        derived_(*compilation.weights()) {}

  bool Run() {
    Walk(*graph_.block());
    return changed_;
  }

 private:
  // The input's id, the inputs of a row of the weight, and whether there is a bias.
  using Key = std::tuple<size_t, int64_t, bool>;

  void Walk(const Block& block) {
    std::map<Key, std::vector<Node*>> groups;  // in the order of the block
    for (Node* node : block) {
      if (IsClosure(*node)) continue;
      for (const Block* inner : node->blocks()) Walk(*inner);
      if (IsProjection(*node)) {
        const bool has_bias = ConstantTensor(*node->input(2)) != nullptr;
        groups[{node->input(0)->id(), ConstantTensor(*node->input(1))->size(1), has_bias}].push_back(node);
      }
    }
    for (const auto& [key, nodes] : groups) {
      if (nodes.size() > 1) Join(nodes);
    }
  }

  bool IsProjection(const Node& node) const {
    if (node.kind() != c10::aten::linear || node.op() == nullptr) return false;
    const ValueFacts& input = facts_.Of(*node.input(0));
    if (!input.is_tensor() || !input.device || !input.dtype || facts_.memory().MayBeWritten(*node.input(0)) ||
        !target_.JoinsProjections(*input.device, *input.dtype)) {
      return false;
    }
    const at::Tensor* weight = ConstantTensor(*node.input(1));
    if (weight == nullptr || !IsUsable(*weight, 2, *input.dtype)) return false;
    const at::Tensor* bias = ConstantTensor(*node.input(2));
    const c10::IValue* no_bias = ConstantOf(*node.input(2));
    if (bias != nullptr ? !IsUsable(*bias, 1, *input.dtype) || bias->size(0) != weight->size(0)
                        : no_bias == nullptr || !no_bias->isNone()) {
      return false;
    }
    const std::vector<Use>& uses = node.output()->uses();
    return !uses.empty() && std::ranges::all_of(uses, [&](const Use& use) {
      return use.offset == 0 && TakesHeadsApart(*use.user, weight->size(0)) && GoesIntoAttention(*use.user->output());
    });
  }

  static bool IsUsable(const at::Tensor& tensor, int64_t dimensions, c10::ScalarType dtype) {
    return IsPlain(tensor) && tensor.scalar_type() == dtype && tensor.dim() == dimensions && tensor.is_contiguous();
  }

  // Whether it is a view of [..., heads, width] for as many columns: one that can be taken of rows with others between.
  bool TakesHeadsApart(const Node& node, int64_t columns) const {
    if ((node.kind() != c10::aten::view && node.kind() != c10::aten::reshape) || node.outputs().size() != 1)
      return false;
    const ValueFacts& facts = facts_.Of(*node.output());
    if (!facts.sizes || facts.sizes->size() < 3) return false;
    const KnownSize width = facts.sizes->back(), heads = (*facts.sizes)[facts.sizes->size() - 2];
    return width && heads && *width * *heads == columns;
  }

  static bool GoesIntoAttention(const Value& value) {
    return !value.uses().empty() && std::ranges::all_of(value.uses(), [](const Use& use) {
      const Node& user = *use.user;
      if (user.kind() == c10::aten::scaled_dot_product_attention) return use.offset < 3;
      const bool is_turned = user.kind() == c10::aten::transpose || user.kind() == c10::aten::permute;
      return is_turned && user.outputs().size() == 1 && GoesIntoAttention(*user.output());
    });
  }

  void Join(const std::vector<Node*>& nodes) {
    Node* first = nodes.front();
    const bool has_bias = ConstantTensor(*first->input(2)) != nullptr;
    const c10::IValue weights = Joined(nodes, 1);
    const c10::IValue biases = has_bias ? Joined(nodes, 2) : c10::IValue();
    if (weights.isNone() || biases.isNone() == has_bias) return;
    const InsertionGuard here(&graph_, first);
    graph_.SetCurrentRange(first->range());
    Value* weight = graph_.InsertConstant(weights);
    Value* bias = graph_.InsertConstant(biases);
    Value* last = graph_.InsertConstant(int64_t{-1});
    Value* one = graph_.InsertConstant(int64_t{1});
    Value* together = Operate(graph_, c10::aten::linear, "", {first->input(0), weight, bias}, first);
    int64_t begin = 0;
    for (Node* node : nodes) {
      const int64_t end = begin + ConstantTensor(*node->input(1))->size(0);
      Value* from = graph_.InsertConstant(begin);
      Value* to = graph_.InsertConstant(end);
      Value* part = Operate(graph_, c10::aten::slice, "Tensor", {together, last, from, to, one}, first);
      part->SetName(node->output()->name());
      node->output()->ReplaceAllUsesWith(part);
      begin = end;
    }
    for (Node* node : nodes) node->Destroy();
    changed_ = true;
  }

  // The weights, or the biases.
  c10::IValue Joined(const std::vector<Node*>& nodes, size_t input) {
    std::vector<at::Tensor> tensors;
    for (const Node* node : nodes) tensors.push_back(*ConstantTensor(*node->input(input)));
    return JoinedRows(tensors, derived_);
  }

  const Target& target_;
  Graph& graph_;
  ValueFactTable& facts_;
  DerivedConstants& derived_;
  bool changed_ = false;
};

}  // namespace

bool JoinProjections(Compilation& compilation) { return ProjectionJoiner(compilation).Run(); }

}  // namespace hearth
