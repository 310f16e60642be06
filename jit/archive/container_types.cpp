#include "jit/archive/container_types.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/enum_type.h>
#include <ATen/core/jit_type.h>

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jit/ir/type_size.h"
#include "jit/support/errors.h"

namespace hearth {
namespace {

[[noreturn]] void FailType(const c10::IValue& value, const c10::Type& type) {
  throw ArchiveError("a value of type " + type.annotation_str() + " was expected, but a " + value.tagKind() +
                     " was found");
}

bool IsAny(const c10::TypePtr& type) { return type->kind() == c10::TypeKind::AnyType; }

void RestoreList(const c10::IValue& value, const c10::TypePtr& type) {
  if (!value.isList()) FailType(value, *type);
  c10::List<c10::IValue> list = value.toList();
  const c10::TypePtr& element = type->containedType(0);
  if (!IsAny(list.elementType())) {
    if (*list.elementType() != *element) {
      throw ArchiveError("one list is used as a List[" + list.elementType()->annotation_str() + "] and as a " +
                         type->annotation_str());
    }
    return;  // checked when it got that type
  }
  if (IsAny(element)) return;
  for (const c10::IValue& item : value.toListRef()) RestoreType(item, element);
  list.unsafeSetElementType(element);
}

void RestoreDict(const c10::IValue& value, const c10::TypePtr& type) {
  if (!value.isGenericDict()) FailType(value, *type);
  c10::Dict<c10::IValue, c10::IValue> dict = value.toGenericDict();
  const c10::TypePtr& key_type = type->containedType(0);
  const c10::TypePtr& value_type = type->containedType(1);
  if (!IsAny(dict.keyType()) || !IsAny(dict.valueType())) {
    if (*dict.keyType() != *key_type || *dict.valueType() != *value_type) {
      throw ArchiveError("one dict is used as a Dict[" + dict.keyType()->annotation_str() + ", " +
                         dict.valueType()->annotation_str() + "] and as a " + type->annotation_str());
    }
    return;
  }
  for (const auto& entry : dict) {
    RestoreType(entry.key(), key_type);
    RestoreType(entry.value(), value_type);
  }
  dict.unsafeSetKeyType(key_type);
  dict.unsafeSetValueType(value_type);
}

void RestoreTuple(const c10::IValue& value, const c10::TypePtr& type) {
  if (!value.isTuple()) FailType(value, *type);
  const auto& elements = value.toTupleRef().elements();
  const auto types = type->containedTypes();
  if (elements.size() != types.size()) {
    throw ArchiveError("a value of type " + type->annotation_str() + " was expected, but a tuple of " +
                       std::to_string(elements.size()) + " was found");
  }
  for (size_t i = 0; i < types.size(); ++i) RestoreType(elements[i], types[i]);
}

// Whether an alternative of a Union could be meant, by what can be told without looking into containers.
bool MayBe(const c10::IValue& value, const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::ListType:
      return value.isList();
    case c10::TypeKind::DictType:
      return value.isGenericDict();
    case c10::TypeKind::TupleType:
      return value.isTuple() && value.toTupleRef().elements().size() == type.containedTypes().size();
    default:
      return true;
  }
}

void RestoreUnion(const c10::IValue& value, const c10::TypePtr& type) {
  for (const c10::TypePtr& alternative : type->containedTypes()) {
    if (!MayBe(value, *alternative)) continue;
    try {
      RestoreType(value, alternative);
      return;
    } catch (const ArchiveError&) {
      // The next one may fit; a container is given a type only once all that is in it fits.
    }
  }
  FailType(value, *type);
}

bool IsObjectOf(const c10::IValue& value, const c10::TypePtr& type) {
  return value.isObject() && value.type()->isSubtypeOf(*type);
}

bool IsSimple(const c10::IValue& value, const c10::TypePtr& type, bool* known) {
  *known = true;
  switch (type->kind()) {
    case c10::TypeKind::AnyType:
      return true;
    case c10::TypeKind::TensorType:
      return value.isTensor();
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
    case c10::TypeKind::LayoutType:
    case c10::TypeKind::ScalarTypeType:
    case c10::TypeKind::MemoryFormatType:
    case c10::TypeKind::QSchemeType:
      return value.isInt();
    case c10::TypeKind::FloatType:
      return value.isDouble();
    case c10::TypeKind::ComplexType:
      return value.isComplexDouble();
    case c10::TypeKind::BoolType:
      return value.isBool();
    case c10::TypeKind::StringType:
      return value.isString();
    case c10::TypeKind::NumberType:
      return value.isScalar();
    case c10::TypeKind::NoneType:
      return value.isNone();
    case c10::TypeKind::DeviceObjType:
      return value.isDevice();
    case c10::TypeKind::EnumType:
      return value.isEnum() && *value.type() == *type;
    case c10::TypeKind::ClassType:
    case c10::TypeKind::InterfaceType:
      return IsObjectOf(value, type);
    case c10::TypeKind::AnyListType:
      return value.isList();
    case c10::TypeKind::AnyTupleType:
      return value.isTuple();
    case c10::TypeKind::AnyClassType:
      return value.isObject();
    case c10::TypeKind::AnyEnumType:
      return value.isEnum();
    default:
      *known = false;
      return false;
  }
}

// A type and the number of names in its text: a few nested tuples that share their parts can have a type of any size.
struct SizedType {
  c10::TypePtr type;
  size_t size = 1;
};

SizedType Bounded(c10::TypePtr type, size_t size) {
  if (size > kLargestType) return {c10::AnyType::get(), 1};
  return {std::move(type), size};
}

void Unite(SizedType* common, SizedType next) {
  if (!common->type) {
    *common = std::move(next);
  } else if (common->type != next.type && *common->type != *next.type) {
    *common = {c10::AnyType::get(), 1};
  }
}

class Inference {
 public:
  // The value's type, with all containers in it typed.
  SizedType Infer(const c10::IValue& value) {
    if (value.isTensor()) return {c10::TensorType::get()};
    if (!value.isList() && !value.isGenericDict() && !value.isTuple()) return {value.type()};
    const void* identity = value.internalToPointer();
    const auto found = known_.find(identity);
    if (found != known_.end()) return found->second;
    SizedType type = value.isList() ? InferList(value) : value.isTuple() ? InferTuple(value) : InferDict(value);
    return known_.emplace(identity, std::move(type)).first->second;
  }

 private:
  SizedType InferList(const c10::IValue& value) {
    c10::List<c10::IValue> list = value.toList();
    SizedType common;
    for (const c10::IValue& item : value.toListRef()) Unite(&common, Infer(item));
    if (common.type && IsAny(list.elementType())) list.unsafeSetElementType(common.type);
    return Bounded(c10::ListType::create(list.elementType()), common.size + 1);
  }

  SizedType InferDict(const c10::IValue& value) {
    c10::Dict<c10::IValue, c10::IValue> dict = value.toGenericDict();
    SizedType keys;
    SizedType values;
    for (const auto& entry : dict) {
      Unite(&keys, Infer(entry.key()));
      Unite(&values, Infer(entry.value()));
    }
    if (keys.type && IsAny(dict.keyType())) dict.unsafeSetKeyType(keys.type);
    if (values.type && IsAny(dict.valueType())) dict.unsafeSetValueType(values.type);
    return Bounded(c10::DictType::create(dict.keyType(), dict.valueType()), keys.size + values.size + 1);
  }

  SizedType InferTuple(const c10::IValue& value) {
    std::vector<c10::TypePtr> types;
    size_t size = 1;
    for (const c10::IValue& element : value.toTupleRef().elements()) {
      SizedType type = Infer(element);
      types.push_back(std::move(type.type));
      size += type.size;
    }
    return Bounded(c10::TupleType::create(std::move(types)), size);
  }

  std::unordered_map<const void*, SizedType> known_;
};

}  // namespace

void RestoreType(const c10::IValue& value, const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::ListType:
      return RestoreList(value, type);
    case c10::TypeKind::DictType:
      return RestoreDict(value, type);
    case c10::TypeKind::TupleType:
      return RestoreTuple(value, type);
    case c10::TypeKind::OptionalType:
      if (!value.isNone()) RestoreType(value, type->containedType(0));
      return;
    case c10::TypeKind::UnionType:
      return RestoreUnion(value, type);
    default:
      break;
  }
  bool known = false;
  if (IsSimple(value, type, &known)) return;
  if (!known) throw ArchiveError("a value of type " + type->annotation_str() + " cannot be kept in an archive");
  FailType(value, *type);
}

void InferContainerTypes(const c10::IValue& value) { Inference().Infer(value); }

}  // namespace hearth
