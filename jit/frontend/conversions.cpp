#include "jit/frontend/conversions.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "jit/ir/symbols.h"
#include "jit/operators/registry.h"

namespace hearth {
namespace {

using c10::TypeKind;

// An operator that turns a scalar into another.
struct ScalarOperator {
  const char* name;
  const char* overload;
  TypePtr result;
};

// The operator that makes a `to` of a `from`, if one is implied. Only the exact scalar types take part.
const ScalarOperator* FindImplicit(const c10::Type& from, const c10::Type& to) {
  static const auto* const tensor_to_float = new ScalarOperator{"aten::FloatImplicit", "", c10::FloatType::get()};
  static const auto* const tensor_to_complex = new ScalarOperator{"aten::ComplexImplicit", "", c10::ComplexType::get()};
  static const auto* const tensor_to_int = new ScalarOperator{"aten::IntImplicit", "", c10::IntType::get()};
  static const auto* const tensor_to_number = new ScalarOperator{"aten::ScalarImplicit", "", c10::NumberType::get()};
  static const auto* const number_to_float = new ScalarOperator{"aten::Float", "Scalar", c10::FloatType::get()};
  static const auto* const number_to_complex = new ScalarOperator{"aten::Complex", "Scalar", c10::ComplexType::get()};
  static const auto* const number_to_int = new ScalarOperator{"aten::Int", "Scalar", c10::IntType::get()};
  static const auto* const bool_to_float = new ScalarOperator{"aten::Float", "bool", c10::FloatType::get()};
  static const auto* const bool_to_int = new ScalarOperator{"aten::Int", "bool", c10::IntType::get()};
  static const auto* const string_to_device = new ScalarOperator{"aten::device", "", c10::DeviceObjType::get()};
  switch (from.kind()) {
    case TypeKind::TensorType:
      switch (to.kind()) {
        case TypeKind::FloatType:
          return tensor_to_float;
        case TypeKind::ComplexType:
          return tensor_to_complex;
        case TypeKind::IntType:
          return tensor_to_int;
        case TypeKind::NumberType:
          return tensor_to_number;
        default:
          return nullptr;
      }
    case TypeKind::NumberType:
      switch (to.kind()) {
        case TypeKind::FloatType:
          return number_to_float;
        case TypeKind::ComplexType:
          return number_to_complex;
        case TypeKind::IntType:
          return number_to_int;
        default:
          return nullptr;
      }
    case TypeKind::BoolType:
      switch (to.kind()) {
        case TypeKind::FloatType:
          return bool_to_float;
        case TypeKind::IntType:
        case TypeKind::NumberType:
          return bool_to_int;
        default:
          return nullptr;
      }
    case TypeKind::StringType:
      return to.kind() == TypeKind::DeviceObjType ? string_to_device : nullptr;
    default:
      return nullptr;
  }
}

// Wanting an Optional[T] is wanting a T, unless the value may be None itself.
bool WantsInside(const TypePtr& from, const TypePtr& to) {
  return to->kind() == TypeKind::OptionalType && from->kind() != TypeKind::OptionalType &&
         from->kind() != TypeKind::NoneType;
}

std::vector<Value*> UnpackTuple(Graph& graph, const SourceRange& range, Value* tuple) {
  if (tuple->node()->kind() == sym::kTupleConstruct) {
    return {tuple->node()->inputs().begin(), tuple->node()->inputs().end()};
  }
  const auto elements = tuple->type()->expectRef<c10::TupleType>().elements();
  Node* node = graph.Create(sym::kTupleUnpack, {tuple}, elements.size());
  node->SetRange(range);
  for (size_t i = 0; i < elements.size(); ++i) node->output(i)->SetType(elements[i]);
  graph.Insert(node);
  return {node->outputs().begin(), node->outputs().end()};
}

Value* InsertNode(Graph& graph, const SourceRange& range, Symbol kind, std::span<Value* const> inputs, TypePtr type) {
  Node* node = graph.Create(kind, inputs, 1);
  node->SetRange(range);
  node->output()->SetType(std::move(type));
  return graph.Insert(node)->output();
}

}  // namespace

bool IsSubtype(const TypePtr& from, const TypePtr& to) {
  if (from.get() == to.get()) return true;
  switch (to->kind()) {
    case TypeKind::IntType:
    case TypeKind::FloatType:
    case TypeKind::BoolType:
    case TypeKind::ComplexType:
    case TypeKind::StringType:
    case TypeKind::NoneType:
    case TypeKind::DeviceObjType:
      return from->kind() == to->kind();
    case TypeKind::TensorType:
      return from->kind() == TypeKind::TensorType && from->isSubtypeOf(*to);
    case TypeKind::ListType:
      return from->kind() == TypeKind::ListType && from->isSubtypeOf(*to);
    case TypeKind::AnyType:
      return true;
    default:
      return from->isSubtypeOf(*to);
  }
}

const TypePtr& UnwrapOptional(const TypePtr& type) {
  if (const auto* optional = type->castRaw<c10::OptionalType>()) return optional->getElementType();
  return type;
}

bool ConvertibleToList(const TypePtr& type, const TypePtr& list) {
  const auto* list_type = list->castRaw<c10::ListType>();
  if (!list_type) return false;
  if (const auto* tuple = type->castRaw<c10::TupleType>()) {
    const auto elements = tuple->elements();
    return std::all_of(elements.begin(), elements.end(),
                       [&](const TypePtr& element) { return IsSubtype(element, list_type->getElementType()); });
  }
  return IsSubtype(type, list);
}

TypePtr ConvertedType(const TypePtr& from, const TypePtr& to, bool is_empty_list, bool implicit) {
  if (from.get() == to.get()) return from;
  if (WantsInside(from, to)) {
    return ConvertedType(from, to->expectRef<c10::OptionalType>().getElementType(), is_empty_list, implicit);
  }
  if (is_empty_list && to->kind() == TypeKind::ListType) return to;
  if (const auto* tuple = from->castRaw<c10::TupleType>()) {
    const TypePtr& inner = UnwrapOptional(to);
    if (ConvertibleToList(from, inner)) return inner;
    const auto* wanted = to->castRaw<c10::TupleType>();
    if (wanted && wanted->elements().size() == tuple->elements().size() && !IsSubtype(from, to)) {
      std::vector<TypePtr> elements;
      for (size_t i = 0; i < wanted->elements().size(); ++i) {
        elements.push_back(ConvertedType(tuple->elements()[i], wanted->elements()[i], false, implicit));
      }
      return c10::TupleType::create(std::move(elements));
    }
    return from;
  }
  if (implicit) {
    if (const ScalarOperator* op = FindImplicit(*from, *to)) return op->result;
  }
  return from;
}

Value* Convert(Graph& graph, const SourceRange& range, Value* value, const TypePtr& to, bool is_empty_list,
               bool implicit) {
  const TypePtr& from = value->type();
  if (from.get() == to.get()) return value;
  if (WantsInside(from, to)) {
    return Convert(graph, range, value, to->expectRef<c10::OptionalType>().getElementType(), is_empty_list, implicit);
  }
  if (is_empty_list && to->kind() == TypeKind::ListType) {
    value->SetType(to);
    return value;
  }
  if (const auto* tuple = from->castRaw<c10::TupleType>()) {
    const TypePtr& inner = UnwrapOptional(to);
    if (ConvertibleToList(from, inner)) {
      return InsertNode(graph, range, sym::kListConstruct, UnpackTuple(graph, range, value), inner);
    }
    const auto* wanted = to->castRaw<c10::TupleType>();
    if (wanted && wanted->elements().size() == tuple->elements().size() && !IsSubtype(from, to)) {
      std::vector<Value*> elements = UnpackTuple(graph, range, value);
      std::vector<TypePtr> types;
      for (size_t i = 0; i < elements.size(); ++i) {
        elements[i] = Convert(graph, range, elements[i], wanted->elements()[i], false, implicit);
        types.push_back(elements[i]->type());
      }
      return InsertNode(graph, range, sym::kTupleConstruct, elements, c10::TupleType::create(std::move(types)));
    }
    return value;
  }
  if (implicit) {
    if (const ScalarOperator* implied = FindImplicit(*from, *to)) {
      const Operator* op =
          OperatorRegistry::Global().Find(c10::Symbol::fromQualString(implied->name), implied->overload);
      TORCH_INTERNAL_ASSERT(op, "LibTorch lacks the operator ", implied->name, ".", implied->overload);
      Value* converted = InsertNode(graph, range, op->symbol(), {{value}}, implied->result);
      converted->node()->SetOperator(op);
      return converted;
    }
  }
  return value;
}

}  // namespace hearth
