#include "wire/value_from_message.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>
#include <ATen/ops/_local_scalar_dense.h>

#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "wire/bounded_dict.h"
#include "wire/conversion_check.h"
#include "wire/dtypes.h"
#include "wire/value_path.h"

namespace hearth {
namespace {

using c10::IValue;
using c10::TypeKind;
using Kind = v1::Value::KindCase;

const char* KindName(const v1::Value& message) {
  switch (message.kind_case()) {
    case Kind::kNone:
      return "None";
    case Kind::kBoolValue:
      return "bool";
    case Kind::kIntValue:
      return "int";
    case Kind::kFloatValue:
      return "float";
    case Kind::kComplexValue:
      return "complex";
    case Kind::kStrValue:
      return "str";
    case Kind::kDeviceValue:
      return "device";
    case Kind::kTensor:
      return "Tensor";
    case Kind::kList:
      return "list";
    case Kind::kTuple:
      return "tuple";
    case Kind::kDict:
      return "dict";
    case Kind::kObject:
      return "object";
    case Kind::kEnumValue:
      return "enum";
    case Kind::KIND_NOT_SET:
      return "a value without a kind";
  }
  return "a value of an unknown kind";
}

// The items of a list or a tuple; null for any other kind.
const google::protobuf::RepeatedPtrField<v1::Value>* ItemsOf(const v1::Value& message) {
  if (message.has_list()) return &message.list().items();
  if (message.has_tuple()) return &message.tuple().items();
  return nullptr;
}

// The place of the value that a dict has for the key.
ValuePath PathOfKey(const ValuePath& dict, const v1::Value& key) {
  switch (key.kind_case()) {
    case Kind::kStrValue:
      return dict.Key(key.str_value());
    case Kind::kIntValue:
      return dict.Item(key.int_value());
    default:
      return dict.KeyOfKind(KindName(key));
  }
}

bool CanBeKey(const c10::Type& type) {
  switch (type.kind()) {
    case TypeKind::IntType:
    case TypeKind::BoolType:
    case TypeKind::FloatType:
    case TypeKind::ComplexType:
    case TypeKind::StringType:
    case TypeKind::TensorType:
    case TypeKind::DeviceObjType:
      return true;
    default:
      return false;
  }
}

std::optional<c10::Device> ParseDevice(const std::string& text) {
  try {
    return c10::Device(text);
  } catch (const c10::Error&) {
    return std::nullopt;
  }
}

}  // namespace

// One value of the message, with its place in it. What is there is told apart by the type that is wanted.
class ValueReader::Visit {
 public:
  Visit(ValueReader& reader, const v1::Value& message, const ValuePath& path, int depth)
      : reader_(reader), message_(message), path_(path), depth_(depth) {}

  absl::StatusOr<IValue> As(const c10::TypePtr& type) const {
    if (absl::Status status = CheckBounds(); !status.ok()) return status;
    switch (type->kind()) {
      case TypeKind::OptionalType:
        if (message_.has_none()) return IValue();
        return Same().As(type->expectRef<c10::OptionalType>().getElementType());
      case TypeKind::NoneType:
        if (message_.has_none()) return IValue();
        return Mismatch(*type);
      case TypeKind::TensorType:
        if (message_.has_none()) return IValue(at::Tensor());
        if (message_.has_tensor()) return ReadTensor();
        return Mismatch(*type);
      case TypeKind::IntType:
      case TypeKind::FloatType:
      case TypeKind::ComplexType:
      case TypeKind::BoolType:
        return AsScalar(*type);
      case TypeKind::NumberType:
        if (message_.has_bool_value() || message_.has_int_value() || message_.has_float_value() ||
            message_.has_complex_value()) {
          return Inferred(Leniency::kStrict);
        }
        return Mismatch(*type);
      case TypeKind::StringType:
        if (message_.has_str_value()) return IValue(message_.str_value());
        return Mismatch(*type);
      case TypeKind::DeviceObjType:
        if (message_.has_device_value()) return AsDevice(message_.device_value());
        if (message_.has_str_value()) return AsDevice(message_.str_value());
        return Mismatch(*type);
      case TypeKind::ListType:
        return AsList(type->expectRef<c10::ListType>());
      case TypeKind::TupleType:
        return AsTuple(type->expect<c10::TupleType>());
      case TypeKind::DictType:
        return AsDict(type->expectRef<c10::DictType>());
      case TypeKind::ClassType:
        return AsObject(type->expect<c10::ClassType>());
      case TypeKind::EnumType:
        return AsEnum(type->expect<c10::EnumType>());
      case TypeKind::AnyType:
        return Inferred(Leniency::kStrict);
      case TypeKind::UnionType: {
        auto value = Inferred(Leniency::kStrict);
        if (value.ok() && !value->type<c10::Type>()->isSubtypeOf(*type)) {
          return Wrong("expected ", type->annotation_str(), ", got ", value->type<c10::Type>()->annotation_str());
        }
        return value;
      }
      default:
        return Wrong("is of type ", type->annotation_str(), ", which has no form in this protocol");
    }
  }

  // kStrict: as torch.jit takes a value for Any. kLenient: as a client reads an answer.
  enum class Leniency { kStrict, kLenient };

  absl::StatusOr<IValue> Inferred(Leniency leniency) const {
    if (absl::Status status = CheckBounds(); !status.ok()) return status;
    switch (message_.kind_case()) {
      case Kind::kNone:
        return IValue();
      case Kind::kBoolValue:
        return IValue(message_.bool_value());
      case Kind::kIntValue:
        return IValue(message_.int_value());
      case Kind::kFloatValue:
        return IValue(message_.float_value());
      case Kind::kComplexValue:
        return IValue(c10::complex<double>(message_.complex_value().real(), message_.complex_value().imag()));
      case Kind::kStrValue:
        return IValue(message_.str_value());
      case Kind::kDeviceValue:
        return AsDevice(message_.device_value());
      case Kind::kTensor:
        return ReadTensor();
      case Kind::kList:
        return InferredList(leniency);
      case Kind::kTuple:
        return InferredTuple(leniency);
      case Kind::kDict:
        return InferredDict(leniency);
      case Kind::kObject:
        if (leniency == Leniency::kLenient) return FieldsAsDict();
        break;
      case Kind::kEnumValue:
        if (leniency == Leniency::kLenient)
          return Part(message_.enum_value().value(), path_.Field("value")).Inferred(leniency);
        break;
      case Kind::KIND_NOT_SET:
        return Wrong("is a value without a kind");
    }
    return Wrong("is an ", KindName(message_), ", whose class is not known where any value may stand");
  }

 private:
  template <typename... Words>
  absl::Status Wrong(const Words&... words) const {
    return absl::InvalidArgumentError(absl::StrCat(path_.Text(), ": ", words...));
  }

  absl::Status Mismatch(const c10::Type& type) const {
    return Wrong("expected ", type.annotation_str(), ", got ", KindName(message_));
  }

  absl::Status CheckBounds() const {
    if (depth_ > kDeepestValue) return Wrong("is nested deeper than ", kDeepestValue, " levels");
    if (++reader_.values_ > kMostValues) return Wrong("is one of more than ", kMostValues, " values");
    CheckConversionAt(reader_.values_);
    return absl::OkStatus();
  }

  Visit Part(const v1::Value& message, const ValuePath& path) const {
    return Visit(reader_, message, path, depth_ + 1);
  }

  // The same value, wanted as a part of the type.
  Visit Same() const { return Visit(reader_, message_, path_, depth_ + 1); }

  absl::StatusOr<IValue> ReadTensor() const {
    const v1::Tensor& tensor = message_.tensor();
    const std::optional<c10::ScalarType> dtype = DtypeOfName(tensor.dtype());
    if (!dtype.has_value()) return Wrong("has the dtype '", tensor.dtype(), "', which is none that can be sent");
    const c10::IntArrayRef shape(tensor.shape().data(), tensor.shape_size());
    for (const int64_t size : shape) {
      if (size < 0) return Wrong("has a dimension of ", size);
    }
    const std::optional<int64_t> elements = CountElements(shape);
    if (!elements.has_value()) return Wrong("has a shape of more elements than memory can hold");
    const size_t payload = tensor.payload();
    if (payload >= reader_.payloads_.size()) {
      return Wrong("expects payload ", payload, "; the message has ", reader_.payloads_.size(), " payloads");
    }
    if (reader_.payload_used_[payload]) return Wrong("names payload ", payload, ", which belongs to another tensor");
    reader_.payload_used_[payload] = true;
    const RawBytes& bytes = reader_.payloads_[payload];
    const uint64_t expected = static_cast<uint64_t>(*elements) * c10::elementSize(*dtype);
    if (bytes.size != expected) {
      return Wrong("of shape ", ShapeText(shape), " and dtype ", tensor.dtype(), " expects ", expected, " bytes, got ",
                   bytes.size);
    }
    return IValue(TensorOfBytes(bytes, shape, *dtype));
  }

  absl::StatusOr<IValue> AsDevice(const std::string& text) const {
    const std::optional<c10::Device> device = ParseDevice(text);
    if (!device.has_value()) return Wrong("expected a device such as 'cpu' or 'cuda:0', got '", text, "'");
    return IValue(*device);
  }

  // The number that a scalar is made from.
  absl::StatusOr<c10::Scalar> Number(const c10::Type& wanted) const {
    switch (message_.kind_case()) {
      case Kind::kBoolValue:
        return c10::Scalar(message_.bool_value());
      case Kind::kIntValue:
        return c10::Scalar(message_.int_value());
      case Kind::kFloatValue:
        return c10::Scalar(message_.float_value());
      case Kind::kComplexValue:
        return c10::Scalar(c10::complex<double>(message_.complex_value().real(), message_.complex_value().imag()));
      case Kind::kTensor: {
        auto tensor = ReadTensor();
        if (!tensor.ok()) return tensor.status();
        if (tensor->toTensor().numel() != 1) {
          return Wrong("expected ", wanted.annotation_str(), ", got a Tensor of shape ",
                       ShapeText(tensor->toTensor().sizes()));
        }
        return Real(at::_local_scalar_dense(tensor->toTensor()));
      }
      default:
        return Mismatch(wanted);
    }
  }

  // A complex number without an imaginary part is a float to Python's float() and int().
  static c10::Scalar Real(const c10::Scalar& number) {
    if (!number.isComplex() || number.toComplexDouble().imag() != 0) return number;
    return number.toComplexDouble().real();
  }

  absl::StatusOr<IValue> AsScalar(const c10::Type& type) const {
    if (type.kind() == TypeKind::BoolType && message_.has_none()) return IValue(false);
    const auto number = Number(type);
    if (!number.ok()) return number.status();
    const bool from_tensor = message_.has_tensor();
    switch (type.kind()) {
      case TypeKind::BoolType:
        if (number->isComplex()) return IValue(number->toComplexDouble() != c10::complex<double>(0));
        return IValue(number->isFloatingPoint() ? number->toDouble() != 0 : number->toLong() != 0);
      case TypeKind::IntType:
        // A float is no int, but a tensor of one is asked for the int that it holds.
        if (number->isComplex() || (number->isFloatingPoint() && !from_tensor)) return Mismatch(type);
        if (number->isFloatingPoint()) return Truncated(number->toDouble());
        return IValue(number->toLong());
      case TypeKind::FloatType:
        if (number->isComplex()) return Mismatch(type);
        return IValue(number->toDouble());
      default:
        return IValue(number->toComplexDouble());
    }
  }

  absl::StatusOr<IValue> Truncated(double number) const {
    constexpr double kBound = 9223372036854775808.0;  // 2^63
    if (!(number >= -kBound && number < kBound)) return Wrong("expected int, got a Tensor of ", number);
    return IValue(static_cast<int64_t>(number));
  }

  absl::StatusOr<IValue> AsList(const c10::ListType& type) const {
    const auto* items = ItemsOf(message_);
    if (items == nullptr) return Mismatch(type);
    c10::impl::GenericList list(type.getElementType());
    list.reserve(items->size());
    for (int i = 0; i < items->size(); ++i) {
      auto item = Part((*items)[i], path_.Item(i)).As(type.getElementType());
      if (!item.ok()) return item;
      list.push_back(*std::move(item));
    }
    return IValue(list);
  }

  absl::StatusOr<IValue> AsTuple(const c10::TupleTypePtr& type) const {
    const auto* items = ItemsOf(message_);
    if (items == nullptr) return Mismatch(*type);
    const auto expected = static_cast<int>(type->elements().size());
    if (items->size() != expected) {
      return Wrong("expected ", expected, " elements of ", type->annotation_str(), ", got ", items->size());
    }
    if (absl::Status status = CheckFieldNames(*type); !status.ok()) return status;
    std::vector<IValue> elements;
    for (int i = 0; i < expected; ++i) {
      const ValuePath path =
          type->schema() != nullptr ? path_.Field(type->schema()->arguments()[i].name()) : path_.Item(i);
      auto element = Part((*items)[i], path).As(type->elements()[i]);
      if (!element.ok()) return element;
      elements.push_back(*std::move(element));
    }
    if (type->schema() != nullptr) return IValue(c10::ivalue::Tuple::createNamed(std::move(elements), type));
    return IValue(c10::ivalue::Tuple::create(std::move(elements)));
  }

  absl::Status CheckFieldNames(const c10::TupleType& type) const {
    const auto& names = message_.tuple().field_names();
    if (names.empty()) return absl::OkStatus();
    if (type.schema() == nullptr) return Wrong("expected ", type.annotation_str(), ", got a tuple with named fields");
    const auto& fields = type.schema()->arguments();
    if (names.size() != static_cast<int>(fields.size())) {
      return Wrong("has ", names.size(), " names for the ", fields.size(), " fields of ", type.annotation_str());
    }
    for (int i = 0; i < names.size(); ++i) {
      if (names[i] != fields[i].name()) {
        return Wrong("expected the field '", fields[i].name(), "' of ", type.annotation_str(), ", got '", names[i],
                     "'");
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<IValue> AsDict(const c10::DictType& type) const {
    if (!message_.has_dict()) return Mismatch(type);
    BoundedDict dict(type.getKeyType(), type.getValueType(), message_.dict().entries_size());
    for (const v1::Dict::Entry& entry : message_.dict().entries()) {
      auto key = Part(entry.key(), path_.Field("key")).As(type.getKeyType());
      if (!key.ok()) return key;
      auto value = Part(entry.value(), PathOfKey(path_, entry.key())).As(type.getValueType());
      if (!value.ok()) return value;
      if (absl::Status status = dict.Insert(*std::move(key), *std::move(value)); !status.ok()) {
        return Wrong(status.message());
      }
    }
    return IValue(dict.Take());
  }

  absl::StatusOr<IValue> AsObject(const c10::ClassTypePtr& type) const {
    if (type->is_module() || type->name()->qualifiedName().starts_with("__torch__.torch.classes")) {
      return Wrong("is of type ", type->annotation_str(), ", which has no form in this protocol");
    }
    if (!message_.has_object()) return Mismatch(*type);
    const auto& fields = message_.object().fields();
    std::vector<std::optional<IValue>> slots(type->numAttributes());
    for (const v1::Object::Field& field : fields) {
      const std::optional<size_t> slot = type->findAttributeSlot(field.name());
      if (!slot.has_value()) return Wrong(type->annotation_str(), " has no attribute '", field.name(), "'");
      if (slots[*slot].has_value()) return Wrong("has the attribute '", field.name(), "' twice");
      auto value = Part(field.value(), path_.Field(field.name())).As(type->getAttribute(*slot));
      if (!value.ok()) return value;
      slots[*slot] = *std::move(value);
    }
    auto object =
        c10::ivalue::Object::create(c10::StrongTypePtr(type->compilation_unit(), type), type->numAttributes());
    for (size_t i = 0; i < slots.size(); ++i) {
      if (!slots[i].has_value()) {
        return Wrong("lacks the attribute '", type->getAttributeName(i), "' of ", type->annotation_str());
      }
      object->setSlot(i, *std::move(slots[i]));
    }
    return IValue(std::move(object));
  }

  absl::StatusOr<IValue> AsEnum(const c10::EnumTypePtr& type) const {
    if (!message_.has_enum_value()) return Mismatch(*type);
    const v1::Enum& given = message_.enum_value();
    for (const auto& [name, value] : type->enumNamesValues()) {
      if (name != given.name()) continue;
      if (given.has_value()) {
        auto given_value = Part(given.value(), path_.Field("value")).As(type->getValueType());
        if (!given_value.ok()) return given_value;
        if (*given_value != value) {
          return Wrong("has another value than ", type->annotation_str(), ".", name, " has");
        }
      }
      return IValue(c10::make_intrusive<c10::ivalue::EnumHolder>(type, name, value));
    }
    return Wrong(type->annotation_str(), " has no member '", given.name(), "'");
  }

  // What all elements are of; null if they do not agree.
  static c10::TypePtr CommonType(const c10::TypePtr& so_far, const c10::TypePtr& next) {
    if (so_far == nullptr) return next;
    return c10::unifyTypes(so_far, next).value_or(nullptr);
  }

  // The type of a container's elements: what they have in common, else, for a client, Any.
  absl::StatusOr<c10::TypePtr> ElementType(const std::vector<IValue>& elements, const char* container,
                                           Leniency leniency) const {
    c10::TypePtr common;
    for (const IValue& element : elements) {
      const c10::TypePtr type = element.type<c10::Type>();
      const c10::TypePtr both = CommonType(common, type);
      if (both == nullptr && leniency == Leniency::kLenient) return c10::TypePtr(c10::AnyType::get());
      if (both == nullptr) {
        return Wrong("expected a ", container, " of elements of one type, got ", common->annotation_str(), " and ",
                     type->annotation_str());
      }
      common = both;
    }
    if (common != nullptr) return common;
    if (leniency == Leniency::kLenient) return c10::TypePtr(c10::AnyType::get());
    return Wrong("expected a ", container, " with elements where any value may stand: an empty one has no type");
  }

  absl::StatusOr<std::vector<IValue>> InferredItems(Leniency leniency) const {
    const auto& items = *ItemsOf(message_);
    std::vector<IValue> values;
    values.reserve(items.size());
    for (int i = 0; i < items.size(); ++i) {
      auto value = Part(items[i], path_.Item(i)).Inferred(leniency);
      if (!value.ok()) return value.status();
      values.push_back(*std::move(value));
    }
    return values;
  }

  absl::StatusOr<IValue> InferredList(Leniency leniency) const {
    auto values = InferredItems(leniency);
    if (!values.ok()) return values.status();
    const auto type = ElementType(*values, "list", leniency);
    if (!type.ok()) return type.status();
    c10::impl::GenericList list(*type);
    list.reserve(values->size());
    for (IValue& value : *values) list.push_back(std::move(value));
    return IValue(list);
  }

  absl::StatusOr<IValue> InferredTuple(Leniency leniency) const {
    auto values = InferredItems(leniency);
    if (!values.ok()) return values.status();
    const v1::Tuple& tuple = message_.tuple();
    if (tuple.field_names().empty()) return IValue(c10::ivalue::Tuple::create(*std::move(values)));
    if (leniency == Leniency::kStrict)
      return Wrong("is a named tuple, whose class is not known where any value may stand");
    if (tuple.field_names_size() != tuple.items_size()) return Wrong("has a number of names that is not its length");
    std::vector<c10::TypePtr> types;
    for (const IValue& value : *values) types.push_back(value.type<c10::Type>());
    const std::vector<std::string> names(tuple.field_names().begin(), tuple.field_names().end());
    const auto type = c10::TupleType::createNamed(c10::QualifiedName(tuple.type()), names, types);
    return IValue(c10::ivalue::Tuple::createNamed(*std::move(values), type));
  }

  absl::StatusOr<IValue> InferredDict(Leniency leniency) const {
    std::vector<IValue> keys, values;
    for (const v1::Dict::Entry& entry : message_.dict().entries()) {
      auto key = Part(entry.key(), path_.Field("key")).Inferred(leniency);
      if (!key.ok()) return key;
      auto value = Part(entry.value(), PathOfKey(path_, entry.key())).Inferred(leniency);
      if (!value.ok()) return value;
      keys.push_back(*std::move(key));
      values.push_back(*std::move(value));
    }
    auto key_type = ElementType(keys, "dict", Leniency::kStrict);
    if (!key_type.ok() && keys.empty() && leniency == Leniency::kLenient) key_type = c10::StringType::get();
    if (!key_type.ok()) return key_type.status();
    if (!CanBeKey(**key_type))
      return Wrong("has keys of type ", (*key_type)->annotation_str(), ", which cannot be keys");
    const auto value_type = ElementType(values, "dict", leniency);
    if (!value_type.ok()) return value_type.status();
    BoundedDict dict(*key_type, *value_type, keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      absl::Status status = dict.Insert(std::move(keys[i]), std::move(values[i]));
      if (!status.ok()) return Wrong(status.message());
    }
    return IValue(dict.Take());
  }

  absl::StatusOr<IValue> FieldsAsDict() const {
    BoundedDict dict(c10::StringType::get(), c10::AnyType::get(), message_.object().fields_size());
    for (const v1::Object::Field& field : message_.object().fields()) {
      auto value = Part(field.value(), path_.Field(field.name())).Inferred(Leniency::kLenient);
      if (!value.ok()) return value;
      if (absl::Status status = dict.Insert(field.name(), *std::move(value)); !status.ok()) {
        return Wrong(status.message());
      }
    }
    return IValue(dict.Take());
  }

  ValueReader& reader_;
  const v1::Value& message_;
  const ValuePath path_;
  const int depth_;
};

absl::StatusOr<IValue> ValueReader::Read(const v1::Value& message, const c10::TypePtr& type,
                                         const std::string& name) try {
  return Visit(*this, message, ValuePath(name), 0).As(type);
} catch (const std::bad_alloc&) {
  throw;
} catch (const ConversionEnded&) {
  throw;
} catch (const std::exception& error) {
  // LibTorch refuses some values by throwing (a key that is not a number, memory that is not there).
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", error.what()));
}

absl::StatusOr<IValue> ValueReader::ReadWithoutSchema(const v1::Value& message, const std::string& name) try {
  return Visit(*this, message, ValuePath(name), 0).Inferred(Visit::Leniency::kLenient);
} catch (const std::bad_alloc&) {
  throw;
} catch (const ConversionEnded&) {
  throw;
} catch (const std::exception& error) {
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", error.what()));
}

absl::Status ValueReader::CheckPayloads() const {
  for (size_t i = 0; i < payload_used_.size(); ++i) {
    if (payload_used_[i]) continue;
    return absl::InvalidArgumentError(absl::StrCat("payload ", i, " belongs to no tensor of the message"));
  }
  return absl::OkStatus();
}

}  // namespace hearth
