#include "jit/passes/split_sums.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <ranges>
#include <string>
#include <vector>

#include "jit/analysis/number_of.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/analysis/visible_strides.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/fact_rules.h"
#include "jit/definitions/node_effects.h"
#include "jit/definitions/scalar_rules.h"
#include "jit/graph_edits/inferring_edits.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

constexpr int64_t kMostParts = 4;
// On a CPU a smaller sum is done before a kernel has begun.
constexpr int64_t kLeastSummed = 4096;

// A dimension of a tensor of so many elements along it, each of which is a part. The tensors that are added up, and
// what they are products of, have one dtype and device.
struct Split {
  size_t dimension;
  int64_t parts;
  c10::ScalarType dtype;
  c10::Device device;

  // The same of an operand whose dimension that is.
  Split Along(size_t other) const { return {other, parts, dtype, device}; }
};

class SumSplitter {
 public:
  explicit SumSplitter(Compilation& compilation)
      : graph_(compilation.graph()),
        facts_(compilation.facts()),
        memory_(compilation.memory()),
        edits_(graph_, compilation.facts()),
        has_kernels_(compilation.inputs().kernels != nullptr) {}

  bool Run() {
    for (Node* node : NodesOutsideClosures(*graph_.block(), IsSumOrMean)) {
      if (const std::optional<Split> split = SplitOf(*node)) Replace(node, *split);
    }
    return changed_;
  }

 private:
  static bool IsSumOrMean(const Node& node) {
    if (node.op() == nullptr) return false;
    const std::string& overload = node.op()->schema().overload_name();
    return (node.kind() == c10::aten::sum && overload == "dim_IntList") ||
           (node.kind() == c10::aten::mean && overload == "dim");
  }

  std::optional<Split> SplitOf(const Node& sum) const {
    const ValueFacts& x = facts_.Of(*sum.input(0));
    const c10::IValue *dimensions = ConstantOf(*sum.input(1)), *keeps = ConstantOf(*sum.input(2)),
                      *dtype = ConstantOf(*sum.input(3));
    if (dimensions == nullptr || !dimensions->isIntList() || dimensions->toIntVector().size() != 1) return {};
    if (keeps == nullptr || dtype == nullptr || !IsSummed(x)) return {};
    if (!dtype->isNone() && dtype->toScalarType() != x.dtype) return {};
    const std::optional<size_t> dimension = Dimension(dimensions->toIntVector()[0], x.sizes->size());
    if (!dimension || x.sizes->size() < 2) return {};
    const std::optional<int64_t> parts = (*x.sizes)[*dimension].constant();
    if (!parts || *parts < 2 || *parts > kMostParts || IsSmall(x)) return {};
    const Split split = {*dimension, *parts, *x.dtype, *x.device};
    if (!HasParts(*sum.input(0), split) || OrderMayShow(*sum.output(), facts_)) return {};
    return split;
  }

  // Without kernels, only float32 on a CPU is faster part by part: each operator takes a kernel on a GPU, and a copy in
  // float32 for less precision.
  bool IsSummed(const ValueFacts& facts) const {
    if (!facts.is_tensor() || !facts.plain || !facts.device || !facts.sizes) return false;
    if (!has_kernels_ && (!facts.device->is_cpu() || facts.dtype != c10::kFloat)) return false;
    const bool has_kernels = facts.device->is_cpu() || facts.device->is_cuda();
    return has_kernels && IsComputedInFloat(facts.dtype);
  }

  bool IsOfSplit(const ValueFacts& facts, const Split& split) const {
    return IsSummed(facts) && facts.dtype == split.dtype && facts.device == split.device;
  }

  bool IsSmall(const ValueFacts& facts) const {
    return facts.device->is_cpu() && facts_.sizes().LeastElements(*facts.sizes) < kLeastSummed;
  }

  // Which of its dimensions is the split one of a tensor of `rank` dimensions that it is broadcast to; nothing if it
  // has none.
  std::optional<size_t> DimensionIn(const ValueFacts& operand, size_t rank, size_t dimension) const {
    const size_t extra = rank - operand.sizes->size();
    return dimension < extra ? std::nullopt : std::optional(dimension - extra);
  }

  bool IsProduct(const Node& node, const Split& split) const {
    return node.kind() == c10::aten::mul && node.op() != nullptr && node.output()->uses().size() == 1 &&
           IsOfSplit(facts_.Of(*node.input(0)), split) && IsOfSplit(facts_.Of(*node.input(1)), split);
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
    if (!IsOfSplit(facts, split) || memory_.MayBeWritten(value)) return false;
    const Node& node = *value.node();
    if (const Node* list = StackedList(node, split)) {
      return std::ranges::all_of(list->inputs(), [&](const Value* part) {
        return IsOfSplit(facts_.Of(*part), split) && !memory_.MayBeWritten(*part);
      });
    }
    if (IsProduct(node, split)) {
      const size_t rank = facts.sizes->size();
      return std::ranges::all_of(node.inputs(), [&](const Value* operand) {
        const ValueFacts& own = facts_.Of(*operand);
        const std::optional<size_t> dimension = DimensionIn(own, rank, split.dimension);
        if (!dimension) return !memory_.MayBeWritten(*operand);
        const KnownSize size = (*own.sizes)[*dimension];
        return (size == 1 || size == split.parts) && HasParts(*operand, split.Along(*dimension));
      });
    }
    return IsSmall(facts) || LiesApart(facts, split.dimension);
  }

  // Whether something else than the dimension is innermost in memory, dimensions of size 1 aside.
  static bool LiesApart(const ValueFacts& facts, size_t dimension) {
    const PartOrder nested = facts.nested();
    if (!nested.is_known()) return false;
    const auto has_several = [&](const PartOrder::Level& level) { return (*facts.sizes)[level.dimension] != 1; };
    const auto inner_first = nested.levels() | std::views::reverse;
    const auto innermost = std::ranges::find_if(inner_first, has_several);
    return innermost == inner_first.end() || innermost->dimension != dimension;
  }

  Value* PartOf(Value* value, const Split& split, int64_t i, Node* like) {
    const Node& node = *value->node();
    if (const Node* list = StackedList(node, split)) return list->inputs()[static_cast<size_t>(i)];
    if (IsProduct(node, split)) {
      const size_t rank = facts_.Of(*value).sizes->size();
      const auto part_of_operand = [&](size_t operand) {
        Value* own = node.input(operand);
        const std::optional<size_t> dimension = DimensionIn(facts_.Of(*own), rank, split.dimension);
        return dimension ? PartOf(own, split.Along(*dimension), i, like) : own;
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
    Value* all = SumOfParts(sum, split);
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

  // As LibTorch does it, numbers of less precision are added up, and divided, in float32, and rounded once.
  Value* SumOfParts(Node* sum, const Split& split) {
    const auto part = [&](int64_t i) { return edits_.InDtype(PartOf(sum->input(0), split, i, sum), c10::kFloat, sum); };
    Value* all = part(0);
    for (int64_t i = 1; i < split.parts; ++i) {
      Value* next = part(i);
      all = edits_.Infer(Operate(graph_, c10::aten::add, "Tensor", {all, next, edits_.Constant(int64_t{1})}, sum));
    }
    if (sum->kind() == c10::aten::mean)
      all = edits_.Infer(Operate(graph_, c10::aten::div, "Scalar", {all, edits_.Constant(split.parts)}, sum));
    return edits_.InDtype(all, split.dtype, sum);
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
  const bool has_kernels_;
  bool changed_ = false;
};

}  // namespace

bool SplitSums(Compilation& compilation) { return SumSplitter(compilation).Run(); }

}  // namespace hearth
