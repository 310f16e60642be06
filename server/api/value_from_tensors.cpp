#include "server/api/value_from_tensors.h"

#include <ATen/core/List.h>
#include <ATen/ops/_local_scalar_dense.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "server/api/tensor_path.h"
#include "server/api/wrong_input.h"
#include "wire/bounded_dict.h"

namespace hearth::server {
namespace {

using c10::IValue;
using c10::TypeKind;
using Parts = std::vector<TensorAtPath>;

bool IsScalar(const c10::Type& type) {
  switch (type.kind()) {
    case TypeKind::IntType:
    case TypeKind::FloatType:
    case TypeKind::BoolType:
    case TypeKind::StringType:
      return true;
    default:
      return false;
  }
}

std::optional<int64_t> ParseInteger(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Elements of a list or tuple by their index; kInvalidArgument for a part that is no index.
absl::StatusOr<std::map<int64_t, Parts>> GroupByIndex(const std::string& name, const Parts& parts,
                                                      const c10::TupleType* tuple) {
  std::map<int64_t, Parts> groups;
  for (const TensorAtPath& part : parts) {
    auto [head, rest] = SplitPath(part.path);
    std::optional<int64_t> index = ParseInteger(head);
    if (tuple != nullptr && !index.has_value() && tuple->schema() != nullptr) {
      index = tuple->schema()->argumentIndexWithName(head);
    }
    if (!index.has_value() || *index < 0) {
      return WrongInput(JoinPath(name, part.path), "does not belong to '", name, "', whose parts are named '", name,
                        ".0', '", name, ".1' and so on");
    }
    groups[*index].push_back({rest, part.tensor});
  }
  return groups;
}

absl::StatusOr<IValue> ListFromParts(const c10::ListType& type, const std::string& name, const Parts& parts) {
  auto groups = GroupByIndex(name, parts, nullptr);
  if (!groups.ok()) return groups.status();
  c10::impl::GenericList list(type.getElementType());
  list.reserve(groups->size());
  int64_t expected = 0;
  for (auto& [index, group] : *groups) {
    const std::string element = absl::StrCat(name, ".", expected);
    if (index != expected) return WrongInput(element, "is missing: '", name, ".", index, "' is there");
    auto value = ValueFromTensors(type.getElementType(), element, std::move(group));
    if (!value.ok()) return value.status();
    list.push_back(*std::move(value));
    ++expected;
  }
  return IValue(list);
}

absl::StatusOr<IValue> TupleFromParts(const c10::TypePtr& type, const std::string& name, const Parts& parts) {
  const auto tuple = type->expect<c10::TupleType>();
  auto groups = GroupByIndex(name, parts, tuple.get());
  if (!groups.ok()) return groups.status();
  const auto size = static_cast<int64_t>(tuple->elements().size());
  if (!groups->empty() && groups->rbegin()->first >= size) {
    return WrongInput(absl::StrCat(name, ".", groups->rbegin()->first), "does not belong to '", name, "', which has ",
                      size, " parts");
  }
  std::vector<IValue> values;
  for (int64_t i = 0; i < size; ++i) {
    const std::string part = tuple->schema() != nullptr ? tuple->schema()->arguments()[i].name() : std::to_string(i);
    auto value = ValueFromTensors(tuple->elements()[i], JoinPath(name, part), std::move((*groups)[i]));
    if (!value.ok()) return value.status();
    values.push_back(*std::move(value));
  }
  if (tuple->schema() != nullptr) return IValue(c10::ivalue::Tuple::createNamed(std::move(values), tuple));
  return IValue(c10::ivalue::Tuple::create(std::move(values)));
}

absl::StatusOr<IValue> DictFromParts(const c10::DictType& type, const std::string& name, const Parts& parts) {
  const c10::TypePtr& key_type = type.getKeyType();
  const c10::TypePtr& value_type = type.getValueType();
  if (key_type->kind() != TypeKind::StringType && key_type->kind() != TypeKind::IntType) {
    return absl::UnimplementedError(absl::StrCat("input '", name, "' of type ", type.annotation_str(),
                                                 " cannot be given over this protocol: only keys of str and int can"));
  }
  // In the order of the request, which is the order a dict keeps.
  std::vector<std::pair<std::string, Parts>> groups;
  absl::flat_hash_map<std::string, size_t> places;
  for (const TensorAtPath& part : parts) {
    auto [head, rest] =
        IsOneTensor(*value_type) ? std::pair<std::string, std::string>(part.path, "") : SplitPath(part.path);
    const auto [place, is_new] = places.try_emplace(head, groups.size());
    if (is_new) groups.push_back({head, {}});
    groups[place->second].second.push_back({rest, part.tensor});
  }
  BoundedDict dict(key_type, value_type, groups.size());
  for (auto& [key, group] : groups) {
    auto value = ValueFromTensors(value_type, JoinPath(name, key), std::move(group));
    if (!value.ok()) return value.status();
    IValue key_value(key);
    if (key_type->kind() == TypeKind::IntType) {
      const std::optional<int64_t> number = ParseInteger(key);
      if (!number.has_value())
        return WrongInput(JoinPath(name, key), "has the key '", key, "', which is not an integer");
      key_value = *number;
    }
    absl::Status status = dict.Insert(std::move(key_value), *std::move(value));
    if (!status.ok()) return WrongInput(name, "cannot be made: ", status.message());
  }
  return IValue(dict.Take());
}

bool IsInteger(const Datatype& datatype) {
  return !datatype.is_bytes() && c10::isIntegralType(datatype.scalar, /*includeBool=*/false);
}

// Whether elements of `datatype` can be values of the scalar type without a surprise.
bool Fits(const Datatype& datatype, TypeKind scalar) {
  switch (scalar) {
    case TypeKind::IntType:
      return IsInteger(datatype);
    case TypeKind::FloatType:
      return !datatype.is_bytes() && datatype.scalar != c10::ScalarType::Bool;
    case TypeKind::BoolType:
      return datatype.scalar == c10::ScalarType::Bool;
    case TypeKind::StringType:
      return datatype.is_bytes();
    default:
      return false;
  }
}

const char* Wanted(TypeKind scalar) {
  switch (scalar) {
    case TypeKind::IntType:
      return "INT64 or another integer";
    case TypeKind::FloatType:
      return "FP64 or another number";
    case TypeKind::BoolType:
      return "BOOL";
    default:
      return "BYTES";
  }
}

IValue Element(const WireTensor& tensor, int64_t index, TypeKind scalar) {
  if (scalar == TypeKind::StringType) return IValue(tensor.strings[index]);
  const c10::Scalar value = at::_local_scalar_dense(tensor.tensor.flatten()[index]);
  if (scalar == TypeKind::IntType) return IValue(value.to<int64_t>());
  if (scalar == TypeKind::FloatType) return IValue(value.to<double>());
  return IValue(value.to<bool>());
}

// Of unsigned numbers, the first that is no int; none: all are.
std::optional<uint64_t> FindTooLarge(const WireTensor& tensor) {
  if (tensor.datatype->scalar != c10::ScalarType::UInt64) return std::nullopt;
  const auto* const first = static_cast<const uint64_t*>(tensor.tensor.const_data_ptr());
  const auto* const end = first + tensor.tensor.numel();
  const auto* const found = std::find_if(first, end, [](uint64_t value) { return value > INT64_MAX; });
  return found == end ? std::nullopt : std::optional(*found);
}

absl::Status TooLarge(const std::string& name, uint64_t value) {
  return WrongInput(name, "has ", value, "; an int is at most ", INT64_MAX);
}

template <typename Number>
IValue ListOfNumbers(const at::Tensor& tensor) {
  const at::Tensor numbers = tensor.to(c10::CppTypeToScalarType<Number>::value).contiguous();
  const auto* const first = static_cast<const Number*>(numbers.const_data_ptr());
  c10::List<Number> list;
  list.reserve(numbers.numel());
  for (int64_t i = 0; i < numbers.numel(); ++i) list.push_back(first[i]);
  return IValue(std::move(list));
}

int64_t ElementCount(const WireTensor& tensor) {
  return tensor.datatype->is_bytes() ? static_cast<int64_t>(tensor.strings.size()) : tensor.tensor.numel();
}

absl::StatusOr<IValue> ScalarFromTensor(const c10::Type& type, const std::string& name, const WireTensor& tensor) {
  if (!Fits(*tensor.datatype, type.kind())) {
    return WrongInput(name, "is a ", type.annotation_str(), " and expects ", Wanted(type.kind()), ", got ",
                      tensor.datatype->name);
  }
  if (ElementCount(tensor) != 1) {
    return WrongInput(name, "is a ", type.annotation_str(),
                      " and expects one element of shape [] or [1], got the shape ", ShapeText(tensor.shape));
  }
  if (type.kind() == TypeKind::IntType) {
    if (const auto value = FindTooLarge(tensor)) return TooLarge(name, *value);
  }
  return Element(tensor, 0, type.kind());
}

absl::StatusOr<IValue> ScalarListFromTensor(const c10::ListType& type, const std::string& name,
                                            const WireTensor& tensor) {
  const TypeKind scalar = type.getElementType()->kind();
  if (!Fits(*tensor.datatype, scalar)) {
    return WrongInput(name, "is a ", type.annotation_str(), " and expects ", Wanted(scalar), ", got ",
                      tensor.datatype->name);
  }
  // A batch of one list, or of lists of one, is a list too.
  const auto long_dimensions =
      std::count_if(tensor.shape.begin(), tensor.shape.end(), [](int64_t d) { return d != 1; });
  if (long_dimensions > 1 || tensor.shape.empty()) {
    return WrongInput(name, "is a ", type.annotation_str(), " and expects one dimension, got the shape ",
                      ShapeText(tensor.shape));
  }
  if (scalar == TypeKind::FloatType) return ListOfNumbers<double>(tensor.tensor);
  if (scalar == TypeKind::BoolType) return ListOfNumbers<bool>(tensor.tensor);
  if (scalar == TypeKind::IntType) {
    if (const auto value = FindTooLarge(tensor)) return TooLarge(name, *value);
    return ListOfNumbers<int64_t>(tensor.tensor);
  }
  c10::List<std::string> list;
  list.reserve(tensor.strings.size());
  for (const std::string& string : tensor.strings) list.push_back(string);
  return IValue(std::move(list));
}

absl::StatusOr<IValue> OneTensor(const c10::Type& type, const std::string& name, WireTensor& tensor) {
  const bool stays = type.kind() == TypeKind::TensorType || type.kind() == TypeKind::AnyType;
  if (!stays && !tensor.datatype->is_bytes()) tensor.tensor = tensor.tensor.cpu();
  switch (type.kind()) {
    case TypeKind::TensorType:
      if (tensor.datatype->is_bytes()) return WrongInput(name, "is a Tensor and cannot hold BYTES");
      return IValue(std::move(tensor.tensor));
    case TypeKind::AnyType:
      if (tensor.datatype->is_bytes()) return ScalarFromTensor(*c10::StringType::get(), name, tensor);
      return IValue(std::move(tensor.tensor));
    case TypeKind::NumberType: {
      const bool is_integer = IsInteger(*tensor.datatype);
      return ScalarFromTensor(is_integer ? static_cast<const c10::Type&>(*c10::IntType::get()) : *c10::FloatType::get(),
                              name, tensor);
    }
    case TypeKind::ListType:
      return ScalarListFromTensor(type.expectRef<c10::ListType>(), name, tensor);
    default:
      return ScalarFromTensor(type, name, tensor);
  }
}

}  // namespace

bool IsOneTensor(const c10::Type& type) {
  switch (type.kind()) {
    case TypeKind::TensorType:
    case TypeKind::NumberType:
    case TypeKind::AnyType:
      return true;
    case TypeKind::ListType:
      return IsScalar(*type.expectRef<c10::ListType>().getElementType());
    case TypeKind::OptionalType:
      return IsOneTensor(*type.expectRef<c10::OptionalType>().getElementType());
    default:
      return IsScalar(type);
  }
}

const Datatype* DatatypeOf(const c10::Type& type) {
  switch (type.kind()) {
    case TypeKind::IntType:
      return FindDatatype(c10::ScalarType::Long);
    case TypeKind::FloatType:
      return FindDatatype(c10::ScalarType::Double);
    case TypeKind::BoolType:
      return FindDatatype(c10::ScalarType::Bool);
    case TypeKind::StringType:
      return BytesDatatype();
    case TypeKind::ListType:
      return DatatypeOf(*type.expectRef<c10::ListType>().getElementType());
    case TypeKind::OptionalType:
      return DatatypeOf(*type.expectRef<c10::OptionalType>().getElementType());
    default:
      return nullptr;
  }
}

absl::StatusOr<IValue> ValueFromTensors(const c10::TypePtr& type, const std::string& name, Parts parts) {
  if (type->kind() == TypeKind::OptionalType) {
    if (parts.empty()) return IValue();
    return ValueFromTensors(type->expectRef<c10::OptionalType>().getElementType(), name, std::move(parts));
  }
  if (parts.empty()) return WrongInput(name, "(", type->annotation_str(), ") is missing");
  if (IsOneTensor(*type)) {
    for (const TensorAtPath& part : parts) {
      if (part.path.empty()) continue;
      return WrongInput(JoinPath(name, part.path), "does not belong to '", name, "', which is one tensor");
    }
    if (parts.size() > 1) return WrongInput(name, "is given more than once");
    return OneTensor(*type, name, *parts.front().tensor);
  }
  const bool has_parts =
      type->kind() == TypeKind::ListType || type->kind() == TypeKind::TupleType || type->kind() == TypeKind::DictType;
  if (!has_parts) {
    return absl::UnimplementedError(
        absl::StrCat("input '", name, "' of type ", type->annotation_str(), " cannot be given over this protocol"));
  }
  for (const TensorAtPath& part : parts) {
    if (!part.path.empty()) continue;
    return WrongInput(name, "is a ", type->annotation_str(), ", whose parts are given one by one, as '", name, ".",
                      type->kind() == TypeKind::DictType ? "KEY" : "0", "'");
  }
  if (type->kind() == TypeKind::ListType) return ListFromParts(type->expectRef<c10::ListType>(), name, parts);
  if (type->kind() == TypeKind::DictType) return DictFromParts(type->expectRef<c10::DictType>(), name, parts);
  return TupleFromParts(type, name, parts);
}

}  // namespace hearth::server
