#include "jit/analysis/fact_queries.h"

#include <ATen/core/List.h>
#include <ATen/core/jit_type.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <string>

#include "jit/analysis/number_of.h"
#include "jit/definitions/definition.h"
#include "jit/definitions/fact_rules.h"
#include "jit/definitions/node_effects.h"
#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"

namespace hearth {
namespace {

using c10::IValue;
using Answer = std::optional<IValue>;
Answer Contains(const ValueFacts& list, const ValueFacts& element, SizeAlgebra& sizes) {
  if (list.kind != ValueFacts::Kind::kList || !list.sizes || element.kind != ValueFacts::Kind::kInt) return {};
  bool none = true;
  for (const KnownSize number : *list.sizes) {
    const std::optional<bool> equal = sizes.AreEqual(number, element.number);
    if (equal == true) return IValue(true);
    none &= equal.has_value();
  }
  return none ? Answer(false) : Answer();
}

// all() and any() of a list literal, as far as constants in it decide. `decisive`: the element that does so alone.
Answer Quantified(const Value& list, bool decisive, const ValueFactTable& table) {
  const Node& maker = *list.node();
  if (maker.kind() != sym::kListConstruct || list.type()->kind() != c10::TypeKind::ListType) return {};
  if (table.memory().MayHoldOthers(list)) return {};
  bool all_known = true;
  for (const Value* element : maker.inputs()) {
    const IValue* constant = ConstantOf(*element);
    const bool known = constant != nullptr && (constant->isBool() || constant->isInt());
    all_known &= known;
    if (!known) continue;
    const bool truth = constant->isBool() ? constant->toBool() : constant->toInt() != 0;
    if (truth == decisive) return IValue(decisive);
  }
  return all_known ? Answer(!decisive) : Answer();
}

// How a value compares with itself, if that is sure (what is not a number is not itself).
// Whether a value is `{}`, and stays so.
bool IsEmptyDict(const Value& value, const ValueFactTable& table) {
  const Node& maker = *value.node();
  return maker.kind() == sym::kDictConstruct && maker.inputs().empty() && !table.memory().MayBeWritten(value);
}

Answer ComparedWithItself(const Node& node) {
  const Relation relation = DefinitionOf(node.kind()).relation;
  if (relation == Relation::kNone || node.input(0) != node.input(1)) return {};
  const c10::Type& type = *node.input(0)->type();
  const c10::TypeKind kind = type.kind() == c10::TypeKind::ListType ? type.containedType(0)->kind() : type.kind();
  const bool sure =
      kind == c10::TypeKind::IntType || kind == c10::TypeKind::BoolType || kind == c10::TypeKind::StringType;
  const bool answer =
      relation == Relation::kEqual || relation == Relation::kLessOrEqual || relation == Relation::kGreaterOrEqual;
  return sure ? Answer(answer) : Answer();
}

// Whether two lists of ints that nobody writes are equal.
std::optional<bool> AreEqual(const ValueFacts& a, const ValueFacts& b, SizeAlgebra& sizes) {
  if (a.kind != ValueFacts::Kind::kList || b.kind != ValueFacts::Kind::kList || !a.sizes || !b.sizes) return {};
  if (a.sizes->size() != b.sizes->size()) return false;
  std::optional<bool> all = true;
  for (size_t i = 0; i < a.sizes->size(); ++i) {
    const std::optional<bool> equal = sizes.AreEqual((*a.sizes)[i], (*b.sizes)[i]);
    if (equal == false) return false;
    if (!equal) all.reset();
  }
  return all;
}

// How two numbers compare, or two lists of them, as far as what they are computed of tells.
Answer Compared(const Node& node, ValueFactTable& table) {
  const Relation relation = DefinitionOf(node.kind()).relation;
  if (relation == Relation::kNone || node.output()->type()->kind() != c10::TypeKind::BoolType) return {};
  const ValueFacts &a = table.Of(*node.input(0)), &b = table.Of(*node.input(1));
  SizeAlgebra& sizes = table.sizes();
  if (relation == Relation::kEqual || relation == Relation::kNotEqual) {
    const bool ints = a.kind == ValueFacts::Kind::kInt && b.kind == ValueFacts::Kind::kInt;
    const std::optional<bool> equal = ints ? sizes.AreEqual(a.number, b.number) : AreEqual(a, b, sizes);
    return equal ? Answer(*equal == (relation == Relation::kEqual)) : Answer();
  }
  if (a.kind != ValueFacts::Kind::kInt || b.kind != ValueFacts::Kind::kInt) return {};
  const bool first_is_less = relation == Relation::kLess || relation == Relation::kGreaterOrEqual;
  const std::optional<bool> less = first_is_less ? sizes.IsLess(a.number, b.number) : sizes.IsLess(b.number, a.number);
  if (!less) return {};
  return IValue(*less == (relation == Relation::kLess || relation == Relation::kGreater));
}

// n + 0, n - 0, n * 1, n // 1
bool IsNeutral(const Node& node) {
  const std::optional<int64_t> neutral = DefinitionOf(node.kind()).neutral;
  if (!neutral || node.inputs().size() != 2) return false;
  if (node.output()->type()->kind() != c10::TypeKind::IntType) return false;
  return node.input(0)->type()->kind() == c10::TypeKind::IntType && IntegerOf(*node.input(1)) == neutral;
}

}  // namespace

std::optional<IValue> AnswerFromFacts(const Node& node, ValueFactTable& table) {
  if (node.op() == nullptr || node.outputs().size() != 1 || node.inputs().empty()) return {};
  const ValueFacts& facts = table.Of(*node.input(0));
  if (node.inputs().size() == 1) {
    if (node.kind() == c10::aten::all || node.kind() == c10::aten::any)
      return Quantified(*node.input(), node.kind() == c10::aten::any, table);
    if (node.kind() == c10::aten::len && IsEmptyDict(*node.input(), table)) return IValue(int64_t{0});
    const FactAnswer answer = DefinitionOf(node.kind()).answer;
    return answer != nullptr && facts.is_tensor() ? answer(facts) : Answer();
  }
  if (node.inputs().size() != 2) return {};
  const bool is = node.kind() == c10::aten::__is__;
  if ((is || node.kind() == c10::aten::__isnot__) && facts.is_tensor()) {
    const IValue* other = ConstantOf(*node.input(1));
    return other != nullptr && other->isNone() ? Answer(!is) : Answer();
  }
  if (node.kind() == c10::aten::__contains__) return Contains(facts, table.Of(*node.input(1)), table.sizes());
  const Answer compared = Compared(node, table);
  return compared ? compared : ComparedWithItself(node);
}

bool GivesItsInput(const Node& node, const ValueFactTable& table) {
  if (node.op() == nullptr || node.outputs().size() != 1 || node.inputs().empty()) return false;
  if (IsNeutral(node)) return true;
  if (node.kind() != c10::aten::to && node.kind() != c10::aten::type_as && node.kind() != c10::aten::contiguous)
    return false;
  const ValueFacts& from = table.Of(*node.input(0));
  const ValueFacts& to = table.Of(*node.output());
  if (!from.plain || !to.plain || !from.dtype || !from.device) return false;
  if (node.kind() == c10::aten::contiguous) return from.contiguous() && to.contiguous();
  if (from.dtype != to.dtype || from.device != to.device) return false;
  const std::vector<c10::Argument>& arguments = node.op()->schema().arguments();
  for (size_t i = 1; i < node.inputs().size(); ++i) {
    const IValue* constant = ConstantOf(*node.input(i));
    const std::string& name = arguments[i].name();
    if (name == "copy" && (constant == nullptr || !constant->isBool() || constant->toBool())) return false;
    if (name == "memory_format" && (constant == nullptr || !constant->isNone())) return false;
  }
  return true;
}

bool HaveSameSizes(const ValueFacts& a, const ValueFacts& b) {
  return a.is_tensor() && b.is_tensor() && a.plain && b.plain && a.dtype && a.dtype == b.dtype && a.device &&
         a.device == b.device && a.sizes && a.sizes == b.sizes && std::ranges::all_of(*a.sizes, &KnownSize::is_known);
}

std::optional<std::vector<int64_t>> LikelySizes(const SizeAlgebra& algebra, const std::optional<KnownSizes>& sizes) {
  if (!sizes) return {};
  std::vector<int64_t> likely;
  for (const KnownSize& each : *sizes) {
    const KnownSize size = algebra.Likely(each);
    if (!size) return {};
    likely.push_back(*size);
  }
  return likely;
}

std::optional<int64_t> LikelyRows(ValueFactTable& facts, const Value& tensor) {
  const std::optional<KnownSizes>& sizes = facts.Of(tensor).sizes;
  if (!sizes || sizes->empty()) return {};
  return facts.sizes().Likely(Product(facts.sizes(), *sizes, 0, sizes->size() - 1)).constant();
}

bool HaveSameStrides(const ValueFacts& a, const ValueFacts& b) {
  return a.order.is_known() && a.order.is_exact() && a.order == b.order;
}

}  // namespace hearth
