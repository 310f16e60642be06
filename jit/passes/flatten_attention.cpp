#include "jit/passes/flatten_attention.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include "jit/analysis/value_fact_table.h"
#include "jit/analysis/visible_strides.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/node_effects.h"
#include "jit/graph_edits/inferring_edits.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/closure.h"
#include "jit/operators/attention_operands.h"

namespace hearth {
namespace {

class AttentionFlattener {
 public:
  explicit AttentionFlattener(Compilation& compilation)
      : target_(compilation.target()),
        graph_(compilation.graph()),
        facts_(compilation.facts()),
        edits_(graph_, compilation.facts()) {}

  bool Run() {
    for (Node* node : NodesOutsideClosures(*graph_.block(), IsPlainAttention)) {
      if (const std::optional<std::vector<int64_t>> leading = LeadingSizes(*node)) Replace(node, *leading);
    }
    return changed_;
  }

 private:
  static constexpr size_t kRankOfKernels = 4;

  static bool IsPlainAttention(const Node& node) {
    if (node.kind() != c10::aten::scaled_dot_product_attention || node.op() == nullptr) return false;
    const c10::IValue *mask = ConstantOf(*node.input(sdpa::kMask)), *dropout = ConstantOf(*node.input(sdpa::kDropout)),
                      *causal = ConstantOf(*node.input(sdpa::kCausal)),
                      *repeats = ConstantOf(*node.input(sdpa::kRepeatsHeads));
    return mask != nullptr && mask->isNone() && dropout != nullptr && dropout->toDouble() == 0 && causal != nullptr &&
           !causal->toBool() && repeats != nullptr && !repeats->toBool();
  }

  // The sizes that become one, or that one more follows; nothing where the attention stays.
  std::optional<std::vector<int64_t>> LeadingSizes(const Node& attention) const {
    const ValueFacts& query = facts_.Of(*attention.input(0));
    if (!query.is_tensor() || !query.plain || !query.dtype || !query.device || !query.sizes) return {};
    const size_t rank = query.sizes->size();
    if (rank < 3 || rank == kRankOfKernels || !target_.FlattensAttention(*query.device, *query.dtype)) return {};
    const auto heads = query.sizes->end() - (rank == 3 ? 2 : 3);
    std::vector<int64_t> leading;
    int64_t batch = 1;
    for (auto size = query.sizes->begin(); size != heads; ++size) {
      if (!*size || **size < 1 || **size > sdpa::kMostBlocks / batch) return {};
      batch *= **size;
      leading.push_back(**size);
    }
    if (!std::prev(query.sizes->end(), 3)->is_known()) return {};
    // Queries, keys and values stand before the mask.
    for (size_t i = 1; i < sdpa::kMask; ++i) {
      if (!IsLike(facts_.Of(*attention.input(i)), query)) return {};
    }
    if (OrderMayShow(*attention.output(), facts_)) return {};
    return leading;
  }

  // Whether all but the last two sizes, and the dtype and device, are the query's.
  static bool IsLike(const ValueFacts& operand, const ValueFacts& query) {
    return operand.is_tensor() && operand.plain && operand.dtype == query.dtype && operand.device == query.device &&
           operand.rank() == query.rank() &&
           std::equal(query.sizes->begin(), query.sizes->end() - 2, operand.sizes->begin());
  }

  void Replace(Node* attention, const std::vector<int64_t>& leading) {
    const InsertionGuard here(&graph_, attention);
    graph_.SetCurrentRange(attention->range());
    std::vector<Value*> inputs(attention->inputs().begin(), attention->inputs().end());
    for (size_t i = 0; i < sdpa::kMask; ++i) inputs[i] = InFourDimensions(inputs[i], leading, attention);
    Value* result = edits_.Infer(OperateLike(graph_, *attention, inputs));
    result = leading.size() == 1 ? Without(result, attention) : Apart(result, leading, attention);
    attention->output()->ReplaceAllUsesWith(result);
    attention->Destroy();
    changed_ = true;
  }

  Value* InFourDimensions(Value* operand, const std::vector<int64_t>& leading, const Node* like) const {
    if (leading.size() == 1)
      return edits_.Infer(Operate(graph_, c10::aten::unsqueeze, "", {operand, edits_.Constant(int64_t{1})}, like));
    const auto last = static_cast<int64_t>(leading.size() - 1);
    return edits_.Infer(Operate(graph_, c10::aten::flatten, "using_ints",
                                {operand, edits_.Constant(int64_t{0}), edits_.Constant(last)}, like));
  }

  Value* Without(Value* result, const Node* like) const {
    return edits_.Infer(Operate(graph_, c10::aten::squeeze, "dim", {result, edits_.Constant(int64_t{1})}, like));
  }

  Value* Apart(Value* result, const std::vector<int64_t>& leading, const Node* like) const {
    return edits_.Infer(Operate(graph_, c10::aten::unflatten, "int",
                                {result, edits_.Constant(int64_t{0}), edits_.Constant(leading)}, like));
  }

  const Target& target_;
  Graph& graph_;
  ValueFactTable& facts_;
  const InferringEdits edits_;
  bool changed_ = false;
};

}  // namespace

bool FlattenAttention(Compilation& compilation) { return AttentionFlattener(compilation).Run(); }

}  // namespace hearth
