#include "jit/passes/decompose_einsum.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/analysis/value_fact_table.h"
#include "jit/analysis/visible_strides.h"
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

// The letters of the operands and of the result.
struct Equation {
  std::string first, second, result;
};

std::optional<Equation> ReadEquation(std::string text) {
  std::erase(text, ' ');
  const size_t comma = text.find(','), arrow = text.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow) return {};
  Equation equation{text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1), text.substr(arrow + 2)};
  for (const std::string& labels : {equation.first, equation.second, equation.result}) {
    if (!AreDistinctLetters(labels)) return {};
  }
  return equation;
}

std::optional<Product> ProductOf(const Equation& equation) {
  const auto& [first, second, result] = equation;
  const size_t rank = result.size();
  if (rank < 2 || first.size() != rank || second.size() != rank) return {};
  const std::string batch = result.substr(0, rank - 2);
  if (!first.starts_with(batch) || !second.starts_with(batch)) return {};
  const char row = result[rank - 2], column = result[rank - 1];
  Product product{.rank = rank};
  product.transposes_first = first[rank - 1] == row;
  product.transposes_second = second[rank - 2] == column;
  const char summed = first[product.transposes_first ? rank - 2 : rank - 1];
  const bool fits = first[product.transposes_first ? rank - 1 : rank - 2] == row && summed != column &&
                    second[product.transposes_second ? rank - 2 : rank - 1] == column && column != row &&
                    second[product.transposes_second ? rank - 1 : rank - 2] == summed &&
                    result.find(summed) == std::string::npos;
  return fits ? std::optional(product) : std::nullopt;
}

// What the letters are for: a batch of products, of rows and columns, of sums. Each but the last in the result's order.
struct Roles {
  std::string batch, rows, columns, sums;
};

std::optional<Roles> RolesOf(const Equation& equation) {
  Roles roles;
  const auto has = [](const std::string& labels, char label) { return labels.find(label) != std::string::npos; };
  for (const char label : equation.result) {
    const bool in_first = has(equation.first, label), in_second = has(equation.second, label);
    if (!in_first && !in_second) return {};
    (in_first && in_second ? roles.batch : in_first ? roles.rows : roles.columns) += label;
  }
  for (const char label : equation.first) {
    if (has(equation.result, label)) continue;
    if (!has(equation.second, label)) return {};
    roles.sums += label;
  }
  for (const char label : equation.second) {
    if (!has(equation.result, label) && !has(equation.first, label)) return {};
  }
  const bool is_product = !roles.rows.empty() && !roles.columns.empty() && !roles.sums.empty();
  return is_product ? std::optional(roles) : std::nullopt;
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
    const std::optional<Equation> read = ReadEquation(equation->toStringRef());
    if (!read) return;
    const InsertionGuard at(&graph_, node);
    graph_.SetCurrentRange(node->range());
    Value* result = TryProduct(*read, operands, *node);
    if (result == nullptr) result = TryReordered(*read, operands, *node);
    if (result == nullptr) return;
    result->SetName(node->output()->name());
    node->output()->ReplaceAllUsesWith(result);
    node->Destroy();
    changed_ = true;
  }

  Value* TryProduct(const Equation& equation, const Node& operands, const Node& node) {
    const std::optional<Product> product = ProductOf(equation);
    if (!product || !IsOf(product->rank, *operands.input(0)) || !IsOf(product->rank, *operands.input(1)))
      return nullptr;
    Value* first = product->transposes_first ? Transposed(operands.input(0), node) : operands.input(0);
    Value* second = product->transposes_second ? Transposed(operands.input(1), node) : operands.input(1);
    return Made(c10::aten::matmul, "", {first, second}, node);
  }

  // Of sizes that are known, where nobody sees the order in memory: einsum may multiply the other way round.
  Value* TryReordered(const Equation& equation, const Node& operands, const Node& node) {
    const std::optional<Roles> roles = RolesOf(equation);
    if (!roles || OrderMayShow(*node.output(), facts_)) return nullptr;
    const auto first = SizesOf(*operands.input(0)), second = SizesOf(*operands.input(1));
    if (!first || !second || first->size() != equation.first.size() || second->size() != equation.second.size())
      return nullptr;
    std::map<char, int64_t> sizes;
    for (size_t i = 0; i < first->size(); ++i) sizes[equation.first[i]] = (*first)[i];
    for (size_t i = 0; i < second->size(); ++i) {
      const auto [found, is_new] = sizes.emplace(equation.second[i], (*second)[i]);
      if (!is_new && found->second != (*second)[i]) return nullptr;
    }
    const auto group = [&](const std::string& labels) {
      return std::accumulate(labels.begin(), labels.end(), int64_t{1},
                             [&](int64_t product, char label) { return product * sizes.at(label); });
    };
    const auto with_batch = [&](std::initializer_list<int64_t> more) {
      std::vector<int64_t> all;
      for (const char label : roles->batch) all.push_back(sizes.at(label));
      all.insert(all.end(), more);
      return all;
    };
    const int64_t rows = group(roles->rows), columns = group(roles->columns), sums = group(roles->sums);
    Value* a = Reshaped(Permuted(operands.input(0), equation.first, roles->batch + roles->rows + roles->sums, node),
                        roles->rows.size() + roles->sums.size() > 2, with_batch({rows, sums}), node);
    Value* b = Reshaped(Permuted(operands.input(1), equation.second, roles->batch + roles->sums + roles->columns, node),
                        roles->sums.size() + roles->columns.size() > 2, with_batch({sums, columns}), node);
    Value* product = Made(c10::aten::matmul, "", {a, b}, node);
    const std::string made = roles->batch + roles->rows + roles->columns;
    std::vector<int64_t> apart;
    for (const char label : made) apart.push_back(sizes.at(label));
    return Permuted(Reshaped(product, roles->rows.size() + roles->columns.size() > 2, apart, node), made,
                    equation.result, node);
  }

  // Null unless all are known, of a tensor with elements.
  std::optional<std::vector<int64_t>> SizesOf(const Value& tensor) const {
    const ValueFacts& facts = facts_.Of(tensor);
    return facts.plain ? ConstantsOf(facts.sizes) : std::nullopt;
  }

  Value* Permuted(Value* tensor, const std::string& labels, const std::string& wanted, const Node& node) {
    if (labels == wanted) return tensor;
    std::vector<int64_t> dims;
    for (const char label : wanted) dims.push_back(static_cast<int64_t>(labels.find(label)));
    return Made(c10::aten::permute, "", {tensor, Constant(dims)}, node);
  }

  Value* Reshaped(Value* tensor, bool joins, const std::vector<int64_t>& sizes, const Node& node) {
    if (!joins) return tensor;
    return Made(c10::aten::reshape, "", {tensor, Constant(sizes)}, node);
  }

  // Of that many dimensions, none of them of size 1.
  bool IsOf(size_t rank, const Value& tensor) {
    const ValueFacts& facts = facts_.Of(tensor);
    return facts.plain && facts.rank() == rank && std::ranges::all_of(*facts.sizes, [&](const KnownSize& size) {
             return facts_.sizes().Least(size).value_or(0) > 1;
           });
  }

  Value* Transposed(Value* tensor, const Node& node) {
    return Made(c10::aten::transpose, "int", {tensor, Constant(int64_t{-1}), Constant(int64_t{-2})}, node);
  }

  Value* Made(Symbol symbol, const char* overload, std::initializer_list<Value*> inputs, const Node& node) {
    Value* made = Operate(graph_, symbol, overload, inputs, &node);
    facts_.Infer(*made->node());
    return made;
  }

  Value* Constant(c10::IValue value) {
    Value* constant = graph_.InsertConstant(std::move(value));
    facts_.Infer(*constant->node());
    return constant;
  }

  Graph& graph_;
  ValueFactTable& facts_;
  bool changed_ = false;
};

}  // namespace

bool DecomposeEinsum(Compilation& compilation) { return Decomposer(compilation).changed(); }

}  // namespace hearth
