#include "jit/graph_edits/simplify_node.h"

#include <ATen/core/jit_type.h>

#include "jit/definitions/definition.h"
#include "jit/definitions/node_effects.h"
#include "jit/graph_edits/constant_table.h"
#include "jit/graph_edits/fold.h"
#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"

namespace hearth {
namespace {

constexpr size_t kMaxTupleElements = 64;

bool IsDropout(Symbol symbol) {
  const OperatorDefinition* in_place = FindInPlace(symbol);
  return (in_place != nullptr ? *in_place : DefinitionOf(symbol)).kind == OperatorClass::kDropout;
}

Replacement SameAs(size_t operand) {
  Replacement same;
  same.operand = operand;
  return same;
}

Replacement Constant(c10::IValue value, TypePtr type = nullptr) {
  Replacement constant;
  constant.constant = std::move(value);
  constant.type = std::move(type);
  return constant;
}

// Element `i` of the tuple that `tuple` is.
std::optional<Replacement> TupleElement(const Operand& tuple, size_t i) {
  if (tuple.constant != nullptr) {
    const auto& elements = tuple.constant->toTupleRef().elements();
    if (i >= elements.size()) return {};
    TypePtr type;
    if (auto tuple_type = tuple.type->cast<c10::TupleType>()) type = tuple_type->elements()[i];
    return Constant(elements[i], type);
  }
  if (tuple.value != nullptr && tuple.value->node()->kind() == sym::kTupleConstruct &&
      i < tuple.value->node()->inputs().size()) {
    Replacement element;
    element.value = tuple.value->node()->input(i);
    return element;
  }
  return {};
}

std::optional<size_t> TupleSize(const Operand& tuple) {
  if (tuple.constant != nullptr && tuple.constant->isTuple()) return tuple.constant->toTupleRef().elements().size();
  if (auto type = tuple.type->cast<c10::TupleType>()) return type->elements().size();
  return {};
}

bool SimplifyTupleUnpack(const Node& node, const Operand& tuple, std::vector<Replacement>* outputs) {
  if (TupleSize(tuple) != node.outputs().size()) return false;
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    std::optional<Replacement> element = TupleElement(tuple, i);
    if (!element) return false;
    outputs->push_back(std::move(*element));
  }
  return true;
}

bool SimplifyTupleIndex(const Operand& tuple, const Operand& index, std::vector<Replacement>* outputs) {
  if (index.constant == nullptr || !index.constant->isInt()) return false;
  const std::optional<size_t> size = TupleSize(tuple);
  if (!size) return false;
  int64_t at = index.constant->toInt();
  if (at < 0) at += static_cast<int64_t>(*size);
  if (at < 0 || at >= static_cast<int64_t>(*size)) return false;
  std::optional<Replacement> element = TupleElement(tuple, static_cast<size_t>(at));
  if (!element) return false;
  outputs->push_back(std::move(*element));
  return true;
}

bool SimplifyTupleConstruct(const Node& node, std::span<const Operand> inputs, std::vector<Replacement>* outputs) {
  if (inputs.size() > kMaxTupleElements) return false;
  for (const Operand& input : inputs) {
    if (input.constant == nullptr || HasMemory(*input.constant->type())) return false;
  }
  std::vector<c10::IValue> elements;
  for (const Operand& input : inputs) elements.push_back(*input.constant);
  const auto& type = node.output()->type()->expectRef<c10::TupleType>();
  auto tuple = type.name() ? c10::ivalue::Tuple::createNamed(std::move(elements),
                                                             node.output()->type()->expect<c10::TupleType>())
                           : c10::ivalue::Tuple::create(std::move(elements));
  outputs->push_back(Constant(std::move(tuple), node.output()->type()));
  return true;
}

// Kinds of which a value's own type is what its static type says, so that "not a subtype" is an answer too.
bool IsExact(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::TensorType:
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::ComplexType:
    case c10::TypeKind::StringType:
    case c10::TypeKind::NoneType:
    case c10::TypeKind::DeviceObjType:
    case c10::TypeKind::ClassType:
    case c10::TypeKind::EnumType:
      return true;
    default:
      return false;
  }
}

bool SimplifyIsInstance(const Node& node, const Operand& input, std::vector<Replacement>* outputs) {
  // A constant's own type says more than its declared one, unless it is a container.
  TypePtr type = input.type;
  if (input.constant != nullptr && !IsExact(*type)) {
    TypePtr own = input.constant->type();
    if (IsExact(*own)) type = own;
  }
  const auto& types = node.attribute<std::vector<TypePtr>>(sym::kTypesAttr);
  for (const TypePtr& candidate : types) {
    if (type->isSubtypeOf(*candidate)) {
      outputs->push_back(Constant(true));
      return true;
    }
  }
  if (!IsExact(*type)) return false;
  outputs->push_back(Constant(false));
  return true;
}

// `x is None` where the type of x decides, and `x is x`. `is_answer`: what the node gives if they are the same.
bool SimplifyIs(std::span<const Operand> inputs, bool is_answer, std::vector<Replacement>* outputs) {
  const auto is_none = [](const Operand& operand) {
    return operand.constant != nullptr ? operand.constant->isNone() : operand.type->kind() == c10::TypeKind::NoneType;
  };
  const auto is_not_none = [](const Operand& operand) {
    return operand.constant != nullptr ? !operand.constant->isNone() : !MayBeNone(*operand.type);
  };
  const bool same_memory =
      inputs[0].value != nullptr && inputs[0].value == inputs[1].value && HasMemory(*inputs[0].type);
  if (same_memory || (is_none(inputs[0]) && is_none(inputs[1]))) {
    outputs->push_back(Constant(is_answer));
    return true;
  }
  if ((is_none(inputs[0]) && is_not_none(inputs[1])) || (is_none(inputs[1]) && is_not_none(inputs[0]))) {
    outputs->push_back(Constant(!is_answer));
    return true;
  }
  return false;
}

bool SimplifyOperator(const Node& node, std::span<const Operand> inputs, std::vector<Replacement>* outputs) {
  const Operator& op = *node.op();
  const Symbol symbol = op.symbol();
  if (symbol == c10::aten::__is__ || symbol == c10::aten::__isnot__)
    return SimplifyIs(inputs, symbol == c10::aten::__is__, outputs);
  if ((symbol == c10::aten::_unwrap_optional || symbol == c10::prim::unchecked_unwrap_optional) && inputs.size() == 1) {
    const bool there = inputs[0].constant != nullptr ? !inputs[0].constant->isNone() : !MayBeNone(*inputs[0].type);
    if (there) outputs->push_back(SameAs(0));
    return there;
  }
  if (inputs.size() == 3 && IsDropout(symbol)) {
    const c10::IValue* train = inputs[2].constant;
    const bool off = train != nullptr && train->isBool() && !train->toBool();
    if (off) outputs->push_back(SameAs(0));
    return off;
  }

  if (node.outputs().size() != 1 || inputs.size() > 8) return false;
  const c10::IValue* constants[8];
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].constant == nullptr) return false;
    constants[i] = inputs[i].constant;
  }
  std::optional<c10::IValue> folded = FoldOperator(op, {constants, inputs.size()});
  if (!folded) return false;
  outputs->push_back(Constant(std::move(*folded)));
  return true;
}

// Whether it is of the type of what it stands for. A constant's type may be wider than what it holds, and an operand
// may be known to be of a narrower type than it has in the graph.
bool Fits(const Replacement& replacement, std::span<const Operand> inputs, const Value& output) {
  const Value* value = replacement.operand ? inputs[*replacement.operand].value : replacement.value;
  const TypePtr type = value != nullptr      ? value->type()
                       : replacement.operand ? inputs[*replacement.operand].type
                                             : PreciseType(*replacement.constant, replacement.type);
  return type->isSubtypeOf(*output.type());
}

}  // namespace

bool MayBeNone(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::NoneType:
    case c10::TypeKind::OptionalType:
    case c10::TypeKind::AnyType:
    case c10::TypeKind::VarType:
      return true;
    case c10::TypeKind::UnionType:
      return c10::NoneType::get()->isSubtypeOf(type);
    default:
      return false;
  }
}

bool SimplifyNode(const Node& node, std::span<const Operand> inputs, std::vector<Replacement>* outputs) {
  outputs->clear();
  bool simplified = false;
  if (node.op() != nullptr) {
    simplified = SimplifyOperator(node, inputs, outputs);
  } else {
    const Symbol kind = node.kind();
    if (kind == sym::kTupleUnpack) {
      simplified = SimplifyTupleUnpack(node, inputs[0], outputs);
    } else if (kind == sym::kTupleIndex) {
      simplified = SimplifyTupleIndex(inputs[0], inputs[1], outputs);
    } else if (kind == sym::kTupleConstruct) {
      simplified = SimplifyTupleConstruct(node, inputs, outputs);
    } else if (kind == sym::kIsInstance) {
      simplified = SimplifyIsInstance(node, inputs[0], outputs);
    } else if (kind == sym::kUncheckedCast) {
      const bool nothing_to_cast = inputs[0].constant != nullptr
                                       ? inputs[0].constant->type()->isSubtypeOf(*node.output()->type())
                                       : inputs[0].type->isSubtypeOf(*node.output()->type());
      if (nothing_to_cast) outputs->push_back(SameAs(0));
      simplified = nothing_to_cast;
    }
  }
  for (size_t i = 0; i < outputs->size() && simplified; ++i) simplified = Fits((*outputs)[i], inputs, *node.output(i));
  if (!simplified) outputs->clear();
  return simplified;
}

}  // namespace hearth
