#include "jit/passes/split_sums.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "jit/analysis/number_of.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/analysis/visible_strides.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/fact_rules.h"
#include "jit/definitions/node_effects.h"
#include "jit/graph_edits/inferring_edits.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

constexpr int64_t kMostParts = 4;
// A smaller sum is done before a kernel has begun.
constexpr int64_t kLeastSummed = 4096;

// A dimension of a tensor of so many elements along it, each of which is a part.
struct Split {
  size_t dimension;
  int64_t parts;
};

class SumSplitter {
 public:
  explicit SumSplitter(Compilation& compilation)
      : graph_(compilation.graph()),
        facts_(compilation.facts()),
        memory_(compilation.memory()),
        edits_(graph_, compilation.facts()) {}

  bool Run() {
    for (Node* node : NodesOutsideClosures(*graph_.block(), IsSum)) {
      if (const std::optional<Split> split = SplitOf(*node)) Replace(node, *split);
    }
    return changed_;
  }

 private:
  static bool IsSum(const Node& node) {
    return node.kind() == c10::aten::sum && node.op() != nullptr &&
           node.op()->schema().overload_name() == "dim_IntList";
  }

  std::optional<Split> SplitOf(const Node& sum) const {
    const ValueFacts& x = facts_.Of(*sum.input(0));
    const c10::IValue *dimensions = ConstantOf(*sum.input(1)), *keeps = ConstantOf(*sum.input(2)),
                      *dtype = ConstantOf(*sum.input(3));
    if (dimensions == nullptr || !dimensions->isIntList() || dimensions->toIntVector().size() != 1) return {};
    if (keeps == nullptr || dtype == nullptr || !dtype->isNone() || !IsFloat(x)) return {};
    const std::optional<size_t> dimension = Dimension(dimensions->toIntVector()[0], x.sizes->size());
    if (!dimension || x.sizes->size() < 2) return {};
    const std::optional<int64_t> parts = (*x.sizes)[*dimension].constant();
    if (!parts || *parts < 2 || *parts > kMostParts || LeastElements(x) < kLeastSummed) return {};
    const Split split = {*dimension, *parts};
    if (!HasParts(*sum.input(0), split) || OrderMayShow(*sum.output(), facts_)) return {};
    return split;
  }

  static bool IsFloat(const ValueFacts& facts) {
    return facts.is_tensor() && facts.plain && facts.dtype == c10::kFloat && facts.device && facts.device->is_cpu() &&
           facts.sizes;
  }

  int64_t LeastElements(const ValueFacts& facts) const {
    int64_t elements = 1;
    for (const KnownSize size : *facts.sizes) elements *= facts_.sizes().Least(size).value_or(1);
    return elements;
  }

  // Which of its dimensions is the split one of a tensor of `rank` dimensions that it is broadcast to; nothing if it
  // has none.
  std::optional<size_t> DimensionIn(const ValueFacts& operand, size_t rank, size_t dimension) const {
    const size_t extra = rank - operand.sizes->size();
    return dimension < extra ? std::nullopt : std::optional(dimension - extra);
  }

  bool IsProduct(const Node& node) const {
    return node.kind() == c10::aten::mul && node.op() != nullptr && node.output()->uses().size() == 1 &&
           IsFloat(facts_.Of(*node.input(0))) && IsFloat(facts_.Of(*node.input(1)));
  }

  // The list of the parts that it puts beside each other along the dimension; null if it does no such thing.
  static const Node* StackedList(const Node& node, const Split& split) {
    if (node.kind() != c10::aten::stack || node.op() == nullptr) return nullptr;
    const Node& list = *node.input(0)->node();
    const std::optional<int64_t> dimension = IntegerOf(*node.input(1));
    if (list.kind() != sym::kListConstruct || list.output()->uses().size() != 1) return nullptr;
    const bool is_split =
        dimension == static_cast<int64_t>(split.dimension) && static_cast<int64_t>(list.inputs().size()) == split.parts;
    return is_split ? &list : nullptr;
  }

  // Whether the parts of a tensor can be had: of a large one whose elements along the dimension lie one after the other
  // in memory, each would be every n-th number.
  bool HasParts(const Value& value, const Split& split) const {
    const ValueFacts& facts = facts_.Of(value);
    if (!IsFloat(facts) || memory_.MayBeWritten(value)) return false;
    const Node& node = *value.node();
    if (const Node* list = StackedList(node, split)) {
      return std::ranges::all_of(
          list->inputs(), [&](const Value* part) { return IsFloat(facts_.Of(*part)) && !memory_.MayBeWritten(*part); });
    }
    if (IsProduct(node)) {
      const size_t rank = facts.sizes->size();
      return std::ranges::all_of(node.inputs(), [&](const Value* operand) {
        const ValueFacts& own = facts_.Of(*operand);
        const std::optional<size_t> dimension = DimensionIn(own, rank, split.dimension);
        if (!dimension) return !memory_.MayBeWritten(*operand);
        const KnownSize size = (*own.sizes)[*dimension];
        return (size == 1 || size == split.parts) && HasParts(*operand, {*dimension, split.parts});
      });
    }
    if (LeastElements(facts) < kLeastSummed) return true;
    const PartOrder nested = facts.nested();
    return nested.is_known() && nested.levels().back().dimension != split.dimension;
  }

  Value* PartOf(Value* value, const Split& split, int64_t i, Node* like) {
    const Node& node = *value->node();
    if (const Node* list = StackedList(node, split)) return list->inputs()[static_cast<size_t>(i)];
    if (IsProduct(node)) {
      const size_t rank = facts_.Of(*value).sizes->size();
      const auto part_of_operand = [&](size_t operand) {
        Value* own = node.input(operand);
        const std::optional<size_t> dimension = DimensionIn(facts_.Of(*own), rank, split.dimension);
        return dimension ? PartOf(own, {*dimension, split.parts}, i, like) : own;
      };
      Value* const left = part_of_operand(0);
      return edits_.Infer(Operate(graph_, c10::aten::mul, "Tensor", {left, part_of_operand(1)}, like));
    }
    const bool is_broadcast = (*facts_.Of(*value).sizes)[split.dimension] == 1;
    return edits_.Infer(Operate(
        graph_, c10::aten::select, "int",
        {value, edits_.Constant(static_cast<int64_t>(split.dimension)), edits_.Constant(is_broadcast ? int64_t{0} : i)},
        like));
  }

  void Replace(Node* sum, const Split& split) {
    const InsertionGuard here(&graph_, sum);
    graph_.SetCurrentRange(sum->range());
    Value* all = PartOf(sum->input(0), split, 0, sum);
    for (int64_t i = 1; i < split.parts; ++i) {
      Value* part = PartOf(sum->input(0), split, i, sum);
      all = edits_.Infer(Operate(graph_, c10::aten::add, "Tensor", {all, part, edits_.Constant(int64_t{1})}, sum));
    }
    if (ConstantOf(*sum->input(2))->toBool()) {
      const auto dimension = static_cast<int64_t>(split.dimension);
      all = edits_.Infer(Operate(graph_, c10::aten::unsqueeze, "", {all, edits_.Constant(dimension)}, sum));
    }
    all->SetName(sum->output()->name());
    sum->output()->ReplaceAllUsesWith(all);
    Value* const whole = sum->input(0);
    sum->Destroy();
    DestroyUnused(whole->node());
    changed_ = true;
  }

  // What was made only to be added up: products, stacks and their lists. They would raise where their parts do.
  static void DestroyUnused(Node* whole) {
    std::vector<Node*> made = {whole};
    for (size_t i = 0; i < made.size(); ++i) {
      for (Value* operand : made[i]->inputs()) {
        if (IsMade(*operand->node()) && std::ranges::find(made, operand->node()) == made.end())
          made.push_back(operand->node());
      }
    }
    const auto is_unused = [](const Node* node) { return IsMade(*node) && !node->output()->HasUses(); };
    for (auto found = std::ranges::find_if(made, is_unused); found != made.end();
         found = std::ranges::find_if(made, is_unused)) {
      (*found)->Destroy();
      made.erase(found);
    }
  }
  static bool IsMade(const Node& node) {
    return node.kind() == c10::aten::mul || node.kind() == c10::aten::stack || node.kind() == sym::kListConstruct;
  }

  Graph& graph_;
  ValueFactTable& facts_;
  const WrittenMemory& memory_;
  const InferringEdits edits_;
  bool changed_ = false;
};

}  // namespace

bool SplitSums(Compilation& compilation) { return SumSplitter(compilation).Run(); }

}  // namespace hearth
