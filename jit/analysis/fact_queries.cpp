#include "jit/analysis/fact_queries.h"

#include <ATen/core/List.h>
#include <ATen/core/jit_type.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "jit/definitions/node_effects.h"
#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"

namespace hearth {
namespace {

using c10::IValue;
using Answer = std::optional<IValue>;
using Question = Answer (*)(const ValueFacts&);

Answer Is(const ValueFacts& tensor, c10::DeviceType device) {
  if (!tensor.device) return {};
  return IValue(tensor.device->type() == device);
}

// What plain tensors never are.
Answer NoIfPlain(const ValueFacts& tensor) {
  if (!tensor.plain) return {};
  return IValue(false);
}

const std::unordered_map<Symbol, Question>& Questions() {
  static const std::unordered_map<Symbol, Question> kQuestions = [] {
    std::unordered_map<Symbol, Question> questions;
    const auto add = [&](const char* name, Question question) {
      questions.emplace(Symbol::fromQualString(name), question);
    };
    add("prim::dtype", [](const ValueFacts& tensor) -> Answer {
      if (!tensor.dtype) return {};
      return IValue(static_cast<int64_t>(*tensor.dtype));
    });
    add("prim::device", [](const ValueFacts& tensor) -> Answer {
      if (!tensor.device) return {};
      return IValue(*tensor.device);
    });
    add("prim::layout", [](const ValueFacts& tensor) -> Answer {
      if (!tensor.plain) return {};
      return IValue(static_cast<int64_t>(c10::kStrided));
    });
    add("prim::requires_grad", [](const ValueFacts& tensor) -> Answer {
      if (!tensor.requires_grad) return {};
      return IValue(*tensor.requires_grad);
    });
    add("prim::is_cpu", [](const ValueFacts& tensor) { return Is(tensor, c10::kCPU); });
    add("prim::is_cuda", [](const ValueFacts& tensor) { return Is(tensor, c10::kCUDA); });
    add("prim::is_xpu", [](const ValueFacts& tensor) { return Is(tensor, c10::kXPU); });
    add("prim::is_mps", [](const ValueFacts& tensor) { return Is(tensor, c10::kMPS); });
    add("prim::is_meta", [](const ValueFacts& tensor) { return Is(tensor, c10::kMeta); });
    for (const char* name : {"prim::is_quantized", "prim::is_sparse", "prim::is_sparse_csr", "prim::is_mkldnn",
                             "prim::is_nested", "aten::is_conj", "aten::is_neg"}) {
      add(name, NoIfPlain);
    }
    add("aten::is_floating_point", [](const ValueFacts& tensor) -> Answer {
      if (!tensor.dtype) return {};
      return IValue(c10::isFloatingType(*tensor.dtype));
    });
    add("aten::is_complex", [](const ValueFacts& tensor) -> Answer {
      if (!tensor.dtype) return {};
      return IValue(c10::isComplexType(*tensor.dtype));
    });
    add("aten::element_size", [](const ValueFacts& tensor) -> Answer {
      if (!tensor.dtype || !tensor.plain) return {};
      return IValue(static_cast<int64_t>(c10::elementSize(*tensor.dtype)));
    });
    add("aten::is_contiguous", [](const ValueFacts& tensor) -> Answer {
      if (!tensor.contiguous()) return {};
      return IValue(true);
    });
    add("aten::get_device", [](const ValueFacts& tensor) -> Answer {
      if (!tensor.device) return {};
      return IValue(static_cast<int64_t>(tensor.device->index()));
    });
    return questions;
  }();
  return kQuestions;
}

std::optional<int64_t> ConstantInt(const Value& value) {
  const IValue* constant = ConstantOf(value);
  return constant != nullptr && constant->isInt() ? std::optional(constant->toInt()) : std::nullopt;
}

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

// Of a constant list of strings that nobody writes.
Answer ContainsText(const Value& list, const IValue* element, const ValueFactTable& table) {
  const IValue* constant = ConstantOf(list);
  if (constant == nullptr || !constant->isList() || element == nullptr || !element->isString()) return {};
  if (table.memory().MayHoldOthers(list)) return {};
  for (const IValue& held : constant->toListRef()) {
    if (!held.isString()) return {};
    if (held.toStringRef() == element->toStringRef()) return IValue(true);
  }
  return IValue(false);
}

// all() and any() of a list literal, as far as constants in it decide. `decisive`: the element that does so alone.
Answer Quantified(const Value& list, bool decisive, const ValueFactTable& table) {
  const Node& maker = *list.node();
  if (maker.kind() != sym::kListConstruct || list.type()->kind() != c10::TypeKind::ListType) return {};
  if (list.type()->containedType(0)->kind() != c10::TypeKind::BoolType || table.memory().MayHoldOthers(list)) return {};
  bool all_known = true;
  for (const Value* element : maker.inputs()) {
    const IValue* constant = ConstantOf(*element);
    all_known &= constant != nullptr;
    if (constant != nullptr && constant->toBool() == decisive) return IValue(decisive);
  }
  return all_known ? Answer(!decisive) : Answer();
}

// How a value compares with itself, if that is sure (what is not a number is not itself).
Answer ComparedWithItself(const Node& node) {
  static const std::unordered_map<Symbol, bool> kAnswers = {
      {Symbol::fromQualString("aten::eq"), true},  {Symbol::fromQualString("aten::ne"), false},
      {Symbol::fromQualString("aten::le"), true},  {Symbol::fromQualString("aten::ge"), true},
      {Symbol::fromQualString("aten::lt"), false}, {Symbol::fromQualString("aten::gt"), false}};
  const auto found = kAnswers.find(node.kind());
  if (found == kAnswers.end() || node.input(0) != node.input(1)) return {};
  const c10::Type& type = *node.input(0)->type();
  const c10::TypeKind kind = type.kind() == c10::TypeKind::ListType ? type.containedType(0)->kind() : type.kind();
  const bool sure =
      kind == c10::TypeKind::IntType || kind == c10::TypeKind::BoolType || kind == c10::TypeKind::StringType;
  return sure ? Answer(found->second) : Answer();
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
  enum class Relation { kEq, kNe, kLt, kLe, kGt, kGe };
  static const std::unordered_map<Symbol, Relation> kRelations = {
      {Symbol::fromQualString("aten::eq"), Relation::kEq}, {Symbol::fromQualString("aten::ne"), Relation::kNe},
      {Symbol::fromQualString("aten::lt"), Relation::kLt}, {Symbol::fromQualString("aten::le"), Relation::kLe},
      {Symbol::fromQualString("aten::gt"), Relation::kGt}, {Symbol::fromQualString("aten::ge"), Relation::kGe}};
  const auto found = kRelations.find(node.kind());
  if (found == kRelations.end() || node.output()->type()->kind() != c10::TypeKind::BoolType) return {};
  const Relation relation = found->second;
  const ValueFacts &a = table.Of(*node.input(0)), &b = table.Of(*node.input(1));
  SizeAlgebra& sizes = table.sizes();
  if (relation == Relation::kEq || relation == Relation::kNe) {
    const bool ints = a.kind == ValueFacts::Kind::kInt && b.kind == ValueFacts::Kind::kInt;
    const std::optional<bool> equal = ints ? sizes.AreEqual(a.number, b.number) : AreEqual(a, b, sizes);
    return equal ? Answer(*equal == (relation == Relation::kEq)) : Answer();
  }
  if (a.kind != ValueFacts::Kind::kInt || b.kind != ValueFacts::Kind::kInt) return {};
  const bool first_is_less = relation == Relation::kLt || relation == Relation::kGe;
  const std::optional<bool> less = first_is_less ? sizes.IsLess(a.number, b.number) : sizes.IsLess(b.number, a.number);
  if (!less) return {};
  return IValue(*less == (relation == Relation::kLt || relation == Relation::kGt));
}

// n + 0, n - 0, n * 1, n // 1
bool IsNeutral(const Node& node) {
  static const std::unordered_map<Symbol, int64_t> kNeutral = {{Symbol::fromQualString("aten::add"), 0},
                                                               {Symbol::fromQualString("aten::sub"), 0},
                                                               {Symbol::fromQualString("aten::mul"), 1},
                                                               {Symbol::fromQualString("aten::floordiv"), 1}};
  const auto found = kNeutral.find(node.kind());
  if (found == kNeutral.end() || node.inputs().size() != 2) return false;
  if (node.output()->type()->kind() != c10::TypeKind::IntType) return false;
  return node.input(0)->type()->kind() == c10::TypeKind::IntType && ConstantInt(*node.input(1)) == found->second;
}

}  // namespace

std::optional<IValue> AnswerFromFacts(const Node& node, ValueFactTable& table) {
  static const Symbol kIs = Symbol::fromQualString("aten::__is__");
  static const Symbol kIsNot = Symbol::fromQualString("aten::__isnot__");
  static const Symbol kContains = Symbol::fromQualString("aten::__contains__");
  static const Symbol kAll = Symbol::fromQualString("aten::all");
  static const Symbol kAny = Symbol::fromQualString("aten::any");
  if (node.op() == nullptr || node.outputs().size() != 1 || node.inputs().empty()) return {};
  const ValueFacts& facts = table.Of(*node.input(0));
  if (node.inputs().size() == 1) {
    if (node.kind() == kAll || node.kind() == kAny) return Quantified(*node.input(), node.kind() == kAny, table);
    auto question = Questions().find(node.kind());
    return question != Questions().end() && facts.is_tensor() ? question->second(facts) : Answer();
  }
  if (node.inputs().size() != 2) return {};
  const bool is = node.kind() == kIs;
  if ((is || node.kind() == kIsNot) && facts.is_tensor()) {
    const IValue* other = ConstantOf(*node.input(1));
    return other != nullptr && other->isNone() ? Answer(!is) : Answer();
  }
  if (node.kind() == kContains) {
    const Answer text = ContainsText(*node.input(0), ConstantOf(*node.input(1)), table);
    return text ? text : Contains(facts, table.Of(*node.input(1)), table.sizes());
  }
  const Answer compared = Compared(node, table);
  return compared ? compared : ComparedWithItself(node);
}

bool GivesItsInput(const Node& node, const ValueFactTable& table) {
  static const Symbol kTo = Symbol::fromQualString("aten::to");
  static const Symbol kTypeAs = Symbol::fromQualString("aten::type_as");
  static const Symbol kContiguous = Symbol::fromQualString("aten::contiguous");
  if (node.op() == nullptr || node.outputs().size() != 1 || node.inputs().empty()) return false;
  if (IsNeutral(node)) return true;
  if (node.kind() != kTo && node.kind() != kTypeAs && node.kind() != kContiguous) return false;
  const ValueFacts& from = table.Of(*node.input(0));
  const ValueFacts& to = table.Of(*node.output());
  if (!from.plain || !to.plain || !from.dtype || !from.device) return false;
  if (node.kind() == kContiguous) return from.contiguous() && to.contiguous();
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

}  // namespace hearth
