#include "jit/passes/decompose_einsum.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "jit/analysis/value_fact_table.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/node_effects.h"
#include "jit/definitions/value_facts.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

// Which of the two operands are to be transposed.
struct Product {
  size_t rank = 0;
  bool transposes_first = false;
  bool transposes_second = false;
};

bool AreDistinctLetters(std::string_view labels) {
  for (size_t i = 0; i < labels.size(); ++i) {
    const bool letter = (labels[i] >= 'a' && labels[i] <= 'z') || (labels[i] >= 'A' && labels[i] <= 'Z');
    if (!letter || labels.find(labels[i], i + 1) != std::string_view::npos) return false;
  }
  return true;
}

std::optional<Product> ReadEquation(std::string equation) {
  std::erase(equation, ' ');
  const std::string_view text = equation;
  const size_t comma = text.find(','), arrow = text.find("->");
  if (comma == std::string_view::npos || arrow == std::string_view::npos || comma > arrow) return {};
  const std::string_view first = text.substr(0, comma);
  const std::string_view second = text.substr(comma + 1, arrow - comma - 1);
  const std::string_view result = text.substr(arrow + 2);
  const size_t rank = result.size();
  if (rank < 2 || first.size() != rank || second.size() != rank) return {};
  if (!AreDistinctLetters(first) || !AreDistinctLetters(second) || !AreDistinctLetters(result)) return {};
  const std::string_view batch = result.substr(0, rank - 2);
  if (!first.starts_with(batch) || !second.starts_with(batch)) return {};
  const char row = result[rank - 2], column = result[rank - 1];
  Product product{.rank = rank};
  product.transposes_first = first[rank - 1] == row;
  product.transposes_second = second[rank - 2] == column;
  const char summed = first[product.transposes_first ? rank - 2 : rank - 1];
  const bool fits = first[product.transposes_first ? rank - 1 : rank - 2] == row && summed != column &&
                    second[product.transposes_second ? rank - 2 : rank - 1] == column && column != row &&
                    second[product.transposes_second ? rank - 1 : rank - 2] == summed &&
                    result.find(summed) == std::string_view::npos;
  return fits ? std::optional(product) : std::nullopt;
}

class Decomposer {
 public:
  explicit Decomposer(Compilation& compilation) : graph_(compilation.graph()), facts_(compilation.facts()) {
    Walk(graph_.block());
  }
  bool changed() const { return changed_; }

 private:
  void Walk(Block* block) {
    for (Node* node : *block) {
      for (Block* inner : node->blocks()) Walk(inner);
      if (node->kind() == c10::aten::einsum) TryDecompose(node);
    }
  }

  void TryDecompose(Node* node) {
    if (node->inputs().size() < 2) return;
    const c10::IValue* equation = ConstantOf(*node->input(0));
    const Node& operands = *node->input(1)->node();
    if (equation == nullptr || !equation->isString() || operands.kind() != sym::kListConstruct) return;
    if (operands.inputs().size() != 2 || facts_.memory().MayHoldOthers(*operands.output())) return;
    const std::optional<Product> product = ReadEquation(equation->toStringRef());
    if (!product || !IsOf(product->rank, *operands.input(0)) || !IsOf(product->rank, *operands.input(1))) return;
    const InsertionGuard at(&graph_, node);
    graph_.SetCurrentRange(node->range());
    Value* first = product->transposes_first ? Transposed(operands.input(0), *node) : operands.input(0);
    Value* second = product->transposes_second ? Transposed(operands.input(1), *node) : operands.input(1);
    Value* result = Operate(graph_, c10::aten::matmul, "", {first, second}, node);
    result->SetName(node->output()->name());
    node->output()->ReplaceAllUsesWith(result);
    node->Destroy();
    changed_ = true;
  }

  // Of that many dimensions, none of them of size 1.
  bool IsOf(size_t rank, const Value& tensor) {
    const ValueFacts& facts = facts_.Of(tensor);
    return facts.plain && facts.rank() == rank && std::ranges::all_of(*facts.sizes, [&](const KnownSize& size) {
             return facts_.sizes().Least(size).value_or(0) > 1;
           });
  }

  Value* Transposed(Value* tensor, const Node& node) {
    Value* last = graph_.InsertConstant(int64_t{-1});
    Value* before = graph_.InsertConstant(int64_t{-2});
    return Operate(graph_, c10::aten::transpose, "int", {tensor, last, before}, &node);
  }

  Graph& graph_;
  ValueFactTable& facts_;
  bool changed_ = false;
};

}  // namespace

bool DecomposeEinsum(Compilation& compilation) { return Decomposer(compilation).changed(); }

}  // namespace hearth
