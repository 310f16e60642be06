#include "jit/arguments.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/support/errors.h"

namespace hearth {
namespace {

std::optional<c10::IValue> Adapted(const c10::IValue& value, const c10::TypePtr& type);

std::optional<c10::IValue> AdaptedList(const c10::IValue& value, const c10::TypePtr& element_type) {
  const bool from_tuple = value.isTuple();
  if (!value.isList() && !from_tuple) return std::nullopt;
  c10::impl::GenericList list(element_type);
  const auto elements = from_tuple ? value.toTupleRef().elements().vec() : value.toListRef().vec();
  list.reserve(elements.size());
  for (const c10::IValue& element : elements) {
    std::optional<c10::IValue> adapted = Adapted(element, element_type);
    if (!adapted) return std::nullopt;
    list.push_back(*std::move(adapted));
  }
  return c10::IValue(list);
}

std::optional<c10::IValue> AdaptedDict(const c10::IValue& value, const c10::DictType& type) {
  if (!value.isGenericDict()) return std::nullopt;
  c10::impl::GenericDict dict(type.getKeyType(), type.getValueType());
  for (const auto& entry : value.toGenericDict()) {
    std::optional<c10::IValue> key = Adapted(entry.key(), type.getKeyType());
    std::optional<c10::IValue> element = Adapted(entry.value(), type.getValueType());
    if (!key || !element) return std::nullopt;
    dict.insert(*std::move(key), *std::move(element));
  }
  return c10::IValue(dict);
}

std::optional<c10::IValue> AdaptedTuple(const c10::IValue& value, const c10::TupleTypePtr& type) {
  const bool from_list = value.isList();
  if (!value.isTuple() && !from_list) return std::nullopt;
  std::vector<c10::IValue> elements = from_list ? value.toListRef().vec() : value.toTupleRef().elements().vec();
  if (elements.size() != type->elements().size()) return std::nullopt;
  for (size_t i = 0; i < elements.size(); ++i) {
    std::optional<c10::IValue> adapted = Adapted(elements[i], type->elements()[i]);
    if (!adapted) return std::nullopt;
    elements[i] = *std::move(adapted);
  }
  return c10::ivalue::Tuple::createNamed(std::move(elements), type);
}

std::optional<c10::IValue> AdaptedUnion(const c10::IValue& value, at::ArrayRef<c10::TypePtr> members) {
  if (value.isTensor()) return std::nullopt;  // where no member is one, LibTorch's binding makes no number of it
  for (const c10::TypePtr& member : members) {
    if (std::optional<c10::IValue> adapted = Adapted(value, member)) return adapted;
  }
  return std::nullopt;
}

// The number that LibTorch's binding takes a tensor for, which is what Python's int(), float(), complex() and bool()
// make of it (torch/csrc/jit/python/pybind_utils.cpp, toIValue). Nothing where these raise.
std::optional<c10::IValue> NumberOf(const at::Tensor& tensor, c10::TypeKind kind) {
  const bool is_one = tensor.defined() && tensor.layout() == c10::kStrided && !tensor.is_meta() && tensor.numel() == 1;
  if (!is_one) return std::nullopt;
  const c10::Scalar element = tensor.item();
  const c10::complex<double> number = element.toComplexDouble();
  if (kind == c10::TypeKind::ComplexType) return c10::IValue(number);
  if (kind == c10::TypeKind::BoolType) return c10::IValue(number != c10::complex<double>(0));
  if (number.imag() != 0) return std::nullopt;
  if (kind == c10::TypeKind::FloatType) return c10::IValue(number.real());
  if (element.isIntegral(/*includeBool=*/true)) {
    const bool fits = element.type() != c10::ScalarType::UInt64 || element.toUInt64() >> 63 == 0;
    return fits ? std::optional<c10::IValue>(element.toLong()) : std::nullopt;
  }
  constexpr double kBound = 0x1p63;
  if (!(number.real() >= -kBound && number.real() < kBound)) return std::nullopt;
  return c10::IValue(static_cast<int64_t>(number.real()));
}

// The value as one of type `type`; nothing if it is not one and cannot become one.
std::optional<c10::IValue> Adapted(const c10::IValue& value, const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
      if (value.isTensor()) return value;
      return std::nullopt;
    case c10::TypeKind::FloatType:
      if (value.isTensor()) return NumberOf(value.toTensor(), type->kind());
      if (value.isDouble()) return value;
      if (value.isInt()) return c10::IValue(static_cast<double>(value.toInt()));
      if (value.isBool()) return c10::IValue(static_cast<double>(value.toBool()));
      return std::nullopt;
    case c10::TypeKind::ComplexType:
      if (value.isTensor()) return NumberOf(value.toTensor(), type->kind());
      if (value.isComplexDouble()) return value;
      if (value.isDouble()) return c10::IValue(c10::complex<double>(value.toDouble()));
      if (value.isInt()) return c10::IValue(c10::complex<double>(static_cast<double>(value.toInt())));
      if (value.isBool()) return c10::IValue(c10::complex<double>(static_cast<double>(value.toBool())));
      return std::nullopt;
    case c10::TypeKind::IntType:
      if (value.isTensor()) return NumberOf(value.toTensor(), type->kind());
      if (value.isInt()) return value;
      if (value.isBool()) return c10::IValue(static_cast<int64_t>(value.toBool()));
      return std::nullopt;
    case c10::TypeKind::BoolType:
      if (value.isTensor()) return NumberOf(value.toTensor(), type->kind());
      break;
    case c10::TypeKind::NumberType:
      if (value.isScalar()) return value;
      return std::nullopt;
    case c10::TypeKind::DeviceObjType:
      if (value.isString()) return c10::IValue(c10::Device(value.toStringRef()));
      break;
    case c10::TypeKind::OptionalType:
      if (value.isNone()) return value;
      return Adapted(value, type->expectRef<c10::OptionalType>().getElementType());
    case c10::TypeKind::UnionType:
      if (value.type<c10::Type>()->isSubtypeOf(*type)) return value;
      return AdaptedUnion(value, type->expectRef<c10::UnionType>().containedTypes());
    default:
      break;
  }
  if (value.type<c10::Type>()->isSubtypeOf(*type)) return value;
  switch (type->kind()) {
    case c10::TypeKind::ListType:
      return AdaptedList(value, type->expectRef<c10::ListType>().getElementType());
    case c10::TypeKind::DictType:
      return AdaptedDict(value, type->expectRef<c10::DictType>());
    case c10::TypeKind::TupleType:
      return AdaptedTuple(value, type->expect<c10::TupleType>());
    default:
      return std::nullopt;
  }
}

c10::IValue Fit(const c10::FunctionSchema& schema, const c10::Argument& argument, const c10::IValue& value) {
  if (std::optional<c10::IValue> adapted = Adapted(value, argument.type())) return *std::move(adapted);
  throw ArgumentError("argument '" + argument.name() + "' of " + schema.name() + ": expected " +
                      argument.type()->annotation_str() + ", got " + value.type<c10::Type>()->annotation_str());
}

}  // namespace

Arguments BindArguments(const c10::FunctionSchema& schema, std::optional<c10::IValue> self, Arguments args,
                        KeywordArguments kwargs) {
  const std::vector<c10::Argument>& formals = schema.arguments();
  const size_t first = self ? 1 : 0;
  const size_t expected = formals.size() - first;
  if (args.size() > expected) {
    throw ArgumentError(schema.name() + " takes " + std::to_string(expected) + " arguments, got " +
                        std::to_string(args.size()));
  }
  Arguments bound;
  bound.reserve(formals.size());
  if (self) bound.push_back(*std::move(self));
  for (size_t i = first; i < formals.size(); ++i) {
    const c10::Argument& formal = formals[i];
    const auto keyword =
        std::find_if(kwargs.begin(), kwargs.end(), [&](const auto& entry) { return entry.first == formal.name(); });
    if (i - first < args.size()) {
      if (keyword != kwargs.end()) {
        throw ArgumentError("argument '" + formal.name() + "' of " + schema.name() + " is given twice");
      }
      bound.push_back(Fit(schema, formal, args[i - first]));
    } else if (keyword != kwargs.end()) {
      bound.push_back(Fit(schema, formal, keyword->second));
      kwargs.erase(keyword);
    } else if (formal.default_value()) {
      bound.push_back(*formal.default_value());
    } else {
      throw ArgumentError("argument '" + formal.name() + "' of " + schema.name() + " is missing; expected " +
                          formal.type()->annotation_str());
    }
  }
  if (!kwargs.empty()) throw ArgumentError(schema.name() + " has no argument '" + kwargs.front().first + "'");
  return bound;
}

}  // namespace hearth
