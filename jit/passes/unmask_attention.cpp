#include "jit/passes/unmask_attention.h"

#include "jit/analysis/element_bounds.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/compiler/compilation.h"
#include "jit/operators/attention_operands.h"

namespace hearth {
namespace {

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
      if (!IsAllTrue(*node->input(sdpa::kMask), facts_) || !IsOfScores(*node)) continue;
      const InsertionGuard here(&graph_, node);
      node->ReplaceInput(sdpa::kMask, graph_.InsertConstant(c10::IValue()));
      changed_ = true;
    }
  }

  // Whether the mask has no dimension that the scores, [batch..., queries, keys], have not.
  bool IsOfScores(const Node& attention) {
    const ValueFacts &query = facts_.Of(*attention.input(sdpa::kQuery)), &key = facts_.Of(*attention.input(sdpa::kKey));
    const ValueFacts& mask = facts_.Of(*attention.input(sdpa::kMask));
    if (!query.rank() || !key.rank() || !mask.rank() || *query.rank() < 2 || *key.rank() < 2 ||
        *mask.rank() > *query.rank())
      return false;
    KnownSizes scores = *query.sizes;
    scores.back() = (*key.sizes)[*key.rank() - 2];
    const size_t extra = scores.size() - *mask.rank();
    for (size_t i = 0; i < *mask.rank(); ++i) {
      const KnownSize size = (*mask.sizes)[i];
      if (size != 1 && facts_.sizes().AreEqual(scores[extra + i], size) != true) return false;
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
