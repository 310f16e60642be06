#include "jit/passes/recognize_activations.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <map>
#include <optional>
#include <vector>

#include "jit/analysis/number_of.h"
#include "jit/analysis/pure_nodes.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/node_effects.h"
#include "jit/graph_edits/operate.h"
#include "jit/ir/closure.h"
#include "jit/operators/operator.h"

namespace hearth {
namespace {

constexpr int kHighestDegree = 3;
// Of the nodes between x and f, and between f and the result.
constexpr int kMostNodes = 8;

// x^of_x f^of_f
struct Monomial {
  int of_x = 0;
  int of_f = 0;
  auto operator<=>(const Monomial&) const = default;
};
using Polynomial = std::map<Monomial, double>;

std::optional<Polynomial> Multiply(const Polynomial& a, const Polynomial& b) {
  Polynomial product;
  for (const auto& [of_a, factor_a] : a) {
    for (const auto& [of_b, factor_b] : b) {
      const Monomial monomial{of_a.of_x + of_b.of_x, of_a.of_f + of_b.of_f};
      if (monomial.of_x > kHighestDegree || monomial.of_f > 1) return {};
      product[monomial] += factor_a * factor_b;
    }
  }
  return product;
}

Polynomial Sum(Polynomial a, const Polynomial& b, double factor) {
  for (const auto& [monomial, coefficient] : b) a[monomial] += factor * coefficient;
  std::erase_if(a, [](const auto& term) { return term.second == 0; });
  return a;
}

bool AreAlike(double a, double b) { return std::abs(a - b) <= 1e-6 * std::max(std::abs(a), std::abs(b)); }

bool AreAlike(const Polynomial& a, const Polynomial& b) {
  return std::ranges::equal(a, b, [](const auto& one, const auto& other) {
    return one.first == other.first && AreAlike(one.second, other.second);
  });
}

constexpr double kSqrtOfTwoOverPi = 0.79788456080286536;

// The f of an activation, as a node computes it.
enum class Function { kNone, kTanh, kSigmoid, kClampToSix };

struct Activation {
  Function function;
  Polynomial argument;
  Polynomial result;
  Symbol symbol;
  const char* approximation;  // of GELU
};

const std::vector<Activation>& Activations() {
  static const std::vector<Activation> kActivations = {
      {Function::kTanh,
       {{{1, 0}, kSqrtOfTwoOverPi}, {{3, 0}, kSqrtOfTwoOverPi * 0.044715}},
       {{{1, 0}, 0.5}, {{1, 1}, 0.5}},
       c10::aten::gelu,
       "tanh"},
      {Function::kSigmoid, {{{1, 0}, 1}}, {{{1, 1}, 1}}, c10::aten::silu, nullptr},
      {Function::kClampToSix, {{{0, 0}, 3}, {{1, 0}, 1}}, {{{1, 1}, 1.0 / 6}}, c10::aten::hardswish, nullptr},
      {Function::kClampToSix, {{{0, 0}, 3}, {{1, 0}, 1}}, {{{0, 1}, 1.0 / 6}}, c10::aten::hardsigmoid, nullptr},
  };
  return kActivations;
}

Function FunctionOf(const Node& node, const WrittenMemory& memory) {
  if (node.op() == nullptr || node.outputs().size() != 1) return Function::kNone;
  if (node.kind() == c10::aten::tanh) return Function::kTanh;
  if (node.kind() == c10::aten::sigmoid) return Function::kSigmoid;
  if (node.kind() == c10::aten::relu6) return Function::kClampToSix;
  const bool clamps = node.kind() == c10::aten::hardtanh || node.kind() == c10::aten::clamp;
  if (clamps && NumberOf(*node.input(1), memory) == 0 && NumberOf(*node.input(2), memory) == 6)
    return Function::kClampToSix;
  return Function::kNone;
}

// What values are, as polynomials of x and f.
class Expansion {
 public:
  Expansion(const Value& x, const Value* f, const WrittenMemory& memory) : x_(x), f_(f), memory_(memory) {}

  std::optional<Polynomial> Of(const Value& value) {
    if (&value == &x_) return Polynomial{{{1, 0}, 1}};
    if (&value == f_) return Polynomial{{{0, 1}, 1}};
    if (const std::optional<double> number = NumberOf(value, memory_)) return Polynomial{{{0, 0}, *number}};
    const Node& node = *value.node();
    if (node.op() == nullptr || !IsTensor(value) || ++nodes_ > kMostNodes) return {};
    const Symbol kind = node.kind();
    if (kind == c10::aten::pow) return Power(node);
    if (kind == c10::aten::neg) return Scaled(Of(*node.input(0)), -1);
    if (kind != c10::aten::mul && kind != c10::aten::add && kind != c10::aten::sub && kind != c10::aten::div) return {};
    const std::optional<Polynomial> a = Of(*node.input(0));
    const std::optional<Polynomial> b = a ? Of(*node.input(1)) : std::nullopt;
    if (!a || !b) return {};
    if (kind == c10::aten::mul) return Multiply(*a, *b);
    if (kind == c10::aten::div) return Quotient(node, *a);
    const std::optional<double> factor = NumberOf(*node.input(2), memory_);
    if (!factor) return {};
    return Sum(*a, *b, kind == c10::aten::add ? *factor : -*factor);
  }

 private:
  static std::optional<Polynomial> Scaled(std::optional<Polynomial> polynomial, double factor) {
    return polynomial ? Multiply(*polynomial, {{{0, 0}, factor}}) : std::nullopt;
  }

  std::optional<Polynomial> Quotient(const Node& node, const Polynomial& dividend) const {
    const std::optional<double> divisor = NumberOf(*node.input(1), memory_);
    if (!divisor || *divisor == 0 || node.inputs().size() != 2) return {};
    return Scaled(dividend, 1 / *divisor);
  }

  std::optional<Polynomial> Power(const Node& node) {
    const std::optional<double> exponent = NumberOf(*node.input(1), memory_);
    const std::optional<Polynomial> base = Of(*node.input(0));
    if (!base || (exponent != 2 && exponent != 3)) return {};
    std::optional<Polynomial> power = Multiply(*base, *base);
    return exponent == 3 && power ? Multiply(*power, *base) : power;
  }

  const Value& x_;
  const Value* f_;
  const WrittenMemory& memory_;
  int nodes_ = 0;
};

class Recognizer {
 public:
  explicit Recognizer(Compilation& compilation)
      : graph_(compilation.graph()), facts_(compilation.facts()), pure_(compilation.pure_nodes()) {}

  bool Run() {
    const std::vector<Node*> functions = NodesOutsideClosures(
        *graph_.block(), [this](const Node& node) { return FunctionOf(node, facts_.memory()) != Function::kNone; });
    for (const Node* f : functions) TryFunction(f);
    return changed_;
  }

 private:
  void TryFunction(const Node* f) {
    for (Value* x : Operands(*f)) {
      if (!IsSuitable(*x)) continue;
      for (const Activation& activation : Activations()) {
        if (activation.function != FunctionOf(*f, facts_.memory())) continue;
        const std::optional<Polynomial> argument = Expansion(*x, nullptr, facts_.memory()).Of(*f->input(0));
        if (!argument || !AreAlike(*argument, activation.argument)) continue;
        if (Node* result = FindResult(*f, *x, activation); result != nullptr) return Replace(result, x, activation);
      }
    }
  }

  // Tensors that f's argument may be computed of, the nearest first.
  static std::vector<Value*> Operands(const Node& f) {
    std::vector<Value*> operands = {f.input(0)};
    for (size_t i = 0; i < operands.size() && operands.size() < kMostNodes; ++i) {
      const Node& node = *operands[i]->node();
      if (node.op() == nullptr) continue;
      for (Value* input : node.inputs()) {
        if (IsTensor(*input) && std::ranges::find(operands, input) == operands.end()) operands.push_back(input);
      }
    }
    return operands;
  }

  bool IsSuitable(const Value& x) const {
    const ValueFacts& facts = facts_.Of(x);
    return facts.is_tensor() && facts.plain && facts.dtype && c10::isFloatingType(*facts.dtype) && facts.device &&
           facts.rank().value_or(0) > 0 && !facts_.memory().MayBeWritten(x);
  }

  // The node that gives the activation; null if none does. Nobody uses what is between it and f otherwise.
  Node* FindResult(const Node& f, const Value& x, const Activation& activation) const {
    const Node* node = &f;
    for (int i = 0; i < kMostNodes; ++i) {
      if (!pure_.MayMove(*node) || facts_.memory().MayBeWritten(*node->output())) return nullptr;
      if (node->output()->uses().size() != 1) return nullptr;
      Node* user = node->output()->uses()[0].user;
      if (user->op() == nullptr || user->block() != f.block() || user->outputs().size() != 1) return nullptr;
      const std::optional<Polynomial> result = Expansion(x, f.output(), facts_.memory()).Of(*user->output());
      if (!result) return nullptr;
      if (AreAlike(*result, activation.result)) return pure_.MayMove(*user) ? user : nullptr;
      node = user;
    }
    return nullptr;
  }

  void Replace(Node* node, Value* x, const Activation& activation) {
    const InsertionGuard here(&graph_, node);
    graph_.SetCurrentRange(node->range());
    Value* result = activation.approximation == nullptr
                        ? Operate(graph_, activation.symbol, "", {x}, node)
                        : Operate(graph_, activation.symbol, "", {x, Text(activation.approximation)}, node);
    facts_.Infer(*result->node());
    const ValueFacts& before = facts_.Of(*node->output());
    const ValueFacts& after = facts_.Of(*result);
    if (before.dtype != after.dtype || before.sizes != after.sizes || before.order != after.order) {
      return result->node()->Destroy();
    }
    result->SetName(node->output()->name());
    node->output()->ReplaceAllUsesWith(result);
    DestroyUnused(node);
    changed_ = true;
  }

  Value* Text(const char* text) { return graph_.InsertConstant(c10::IValue(text)); }

  // None of them can raise: their operands are numbers and tensors of the sizes of x.
  void DestroyUnused(Node* node) const {
    const std::vector<Value*> inputs(node->inputs().begin(), node->inputs().end());
    node->Destroy();
    for (Value* input : inputs) {
      Node* maker = input->node();
      const bool arithmetic = maker->op() != nullptr && maker->outputs().size() == 1 && IsTensor(*input);
      if (arithmetic && !input->HasUses() && IsOfActivation(*maker)) DestroyUnused(maker);
    }
  }

  bool IsOfActivation(const Node& node) const {
    const Symbol kind = node.kind();
    return FunctionOf(node, facts_.memory()) != Function::kNone || kind == c10::aten::mul || kind == c10::aten::add ||
           kind == c10::aten::sub || kind == c10::aten::div || kind == c10::aten::pow || kind == c10::aten::neg;
  }

  Graph& graph_;
  ValueFactTable& facts_;
  const PureNodes& pure_;
  bool changed_ = false;
};

}  // namespace

bool RecognizeActivations(Compilation& compilation) { return Recognizer(compilation).Run(); }

}  // namespace hearth
