#include "jit/passes/unmask_attention.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/all.h>

#include <algorithm>

#include "jit/analysis/value_fact_table.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/node_effects.h"

namespace hearth {
namespace {

// Of scaled_dot_product_attention.
constexpr size_t kQuery = 0, kKey = 1, kMask = 3;

class Unmasker {
 public:
  explicit Unmasker(Compilation& compilation) : graph_(compilation.graph()), facts_(compilation.facts()) {}

  bool Run() {
    Walk(*graph_.block());
    return changed_;
  }

 private:
  void Walk(const Block& block) {
    for (Node* node : block) {
      for (const Block* inner : node->blocks()) Walk(*inner);
      if (node->kind() != c10::aten::scaled_dot_product_attention || node->op() == nullptr) continue;
      if (!HidesNothing(*node->input(kMask)) || !IsOfScores(*node)) continue;
      const InsertionGuard here(&graph_, node);
      node->ReplaceInput(kMask, graph_.InsertConstant(c10::IValue()));
      changed_ = true;
    }
  }

  bool HidesNothing(const Value& mask) const {
    const c10::IValue* constant = ConstantOf(mask);
    if (constant == nullptr || !constant->isTensor() || facts_.memory().MayBeWritten(mask)) return false;
    const at::Tensor& tensor = constant->toTensor();
    return tensor.defined() && tensor.scalar_type() == c10::kBool && tensor.layout() == c10::kStrided &&
           !tensor.is_meta() && at::all(tensor).item<bool>();
  }

  // Whether the mask has no dimension that the scores, [batch..., queries, keys], have not.
  bool IsOfScores(const Node& attention) {
    const ValueFacts &query = facts_.Of(*attention.input(kQuery)), &key = facts_.Of(*attention.input(kKey));
    const at::IntArrayRef mask = ConstantOf(*attention.input(kMask))->toTensor().sizes();
    if (!query.rank() || !key.rank() || *query.rank() < 2 || *key.rank() < 2 || mask.size() > *query.rank())
      return false;
    KnownSizes scores = *query.sizes;
    scores.back() = (*key.sizes)[*key.rank() - 2];
    const size_t extra = scores.size() - mask.size();
    for (size_t i = 0; i < mask.size(); ++i) {
      if (mask[i] != 1 && facts_.sizes().AreEqual(scores[extra + i], mask[i]) != true) return false;
    }
    return true;
  }

  Graph& graph_;
  ValueFactTable& facts_;
  bool changed_ = false;
};

}  // namespace

bool UnmaskAttention(Compilation& compilation) { return Unmasker(compilation).Run(); }

}  // namespace hearth
