#include "wire/message_from_value.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>
#include <ATen/core/jit_type.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "jit/support/text.h"
#include "wire/conversion_check.h"
#include "wire/dtypes.h"
#include "wire/value_from_message.h"
#include "wire/value_path.h"

namespace hearth {
namespace {

using c10::IValue;

class Writer {
 public:
  explicit Writer(std::vector<at::Tensor>& payloads) : payloads_(payloads) {}

  absl::Status Write(const IValue& value, const ValuePath& path, int depth, v1::Value& out) {
    if (depth > ValueReader::kDeepestValue) {
      return Wrong(path, "is nested deeper than ", ValueReader::kDeepestValue, " levels");
    }
    if (++values_ > ValueReader::kMostValues) {
      return Wrong(path, "is one of more than ", ValueReader::kMostValues, " values");
    }
    CheckConversionAt(values_);
    if (value.isNone()) {
      out.mutable_none();
    } else if (value.isTensor()) {
      return WriteTensor(value.toTensor(), path, out);
    } else if (value.isBool()) {
      out.set_bool_value(value.toBool());
    } else if (value.isInt()) {
      out.set_int_value(value.toInt());
    } else if (value.isDouble()) {
      out.set_float_value(value.toDouble());
    } else if (value.isComplexDouble()) {
      out.mutable_complex_value()->set_real(value.toComplexDouble().real());
      out.mutable_complex_value()->set_imag(value.toComplexDouble().imag());
    } else if (value.isString()) {
      if (!IsUtf8(value.toStringRef())) return Wrong(path, "is a str that is not UTF-8");
      out.set_str_value(value.toStringRef());
    } else if (value.isDevice()) {
      out.set_device_value(value.toDevice().str());
    } else if (value.isList()) {
      return WriteList(value.toList(), path, depth, *out.mutable_list());
    } else if (value.isTuple()) {
      return WriteTuple(value.toTupleRef(), path, depth, *out.mutable_tuple());
    } else if (value.isGenericDict()) {
      return WriteDict(value.toGenericDict(), path, depth, *out.mutable_dict());
    } else if (value.isEnum()) {
      const auto& holder = *value.toEnumHolder();
      out.mutable_enum_value()->set_type(holder.qualifiedClassName());
      out.mutable_enum_value()->set_name(holder.name());
      return Write(holder.value(), path.Field("value"), depth + 1, *out.mutable_enum_value()->mutable_value());
    } else if (value.isObject()) {
      return WriteObject(value.toObjectRef(), path, depth, *out.mutable_object());
    } else {
      return Wrong(path, "is of type ", value.type<c10::Type>()->annotation_str(),
                   ", which has no form in this protocol");
    }
    return absl::OkStatus();
  }

 private:
  template <typename... Words>
  static absl::Status Wrong(const ValuePath& path, const Words&... words) {
    return absl::InvalidArgumentError(absl::StrCat(path.Text(), ": ", words...));
  }

  absl::Status WriteTensor(const at::Tensor& tensor, const ValuePath& path, v1::Value& out) {
    if (!tensor.defined()) {
      out.mutable_none();
      return absl::OkStatus();
    }
    const std::string dtype = NameOfDtype(tensor.scalar_type());
    if (tensor.layout() != c10::kStrided || tensor.is_nested() || tensor.is_meta() || dtype.empty()) {
      return Wrong(path, "is a tensor of ", tensor.toString(), ", which has no form in this protocol");
    }
    v1::Tensor& described = *out.mutable_tensor();
    described.set_dtype(dtype);
    described.mutable_shape()->Add(tensor.sizes().begin(), tensor.sizes().end());
    described.set_payload(static_cast<uint32_t>(payloads_.size()));
    payloads_.push_back(tensor);
    return absl::OkStatus();
  }

  absl::Status WriteList(const c10::List<IValue>& list, const ValuePath& path, int depth, v1::List& out) {
    out.set_element_type(list.elementType()->annotation_str());
    for (size_t i = 0; i < list.size(); ++i) {
      const absl::Status status = Write(list.get(i), path.Item(static_cast<int64_t>(i)), depth + 1, *out.add_items());
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status WriteTuple(const c10::ivalue::Tuple& tuple, const ValuePath& path, int depth, v1::Tuple& out) {
    const auto type = tuple.type();
    const bool named = type->schema() != nullptr;
    if (named && type->name().has_value()) out.set_type(type->name()->qualifiedName());
    for (size_t i = 0; i < tuple.elements().size(); ++i) {
      if (named) out.add_field_names(type->schema()->arguments()[i].name());
      const ValuePath part =
          named ? path.Field(type->schema()->arguments()[i].name()) : path.Item(static_cast<int64_t>(i));
      const absl::Status status = Write(tuple.elements()[i], part, depth + 1, *out.add_items());
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status WriteDict(const c10::impl::GenericDict& dict, const ValuePath& path, int depth, v1::Dict& out) {
    out.set_key_type(dict.keyType()->annotation_str());
    out.set_value_type(dict.valueType()->annotation_str());
    for (const auto& entry : dict) {
      v1::Dict::Entry& written = *out.add_entries();
      absl::Status status = Write(entry.key(), path.Field("key"), depth + 1, *written.mutable_key());
      if (!status.ok()) return status;
      const ValuePath part =
          entry.key().isString() ? path.Key(entry.key().toStringRef()) : path.Item(out.entries_size() - 1);
      status = Write(entry.value(), part, depth + 1, *written.mutable_value());
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status WriteObject(const c10::ivalue::Object& object, const ValuePath& path, int depth, v1::Object& out) {
    const auto type = object.type();
    if (type->is_module() || type->numAttributes() != object.slots().size() ||
        type->name()->qualifiedName().starts_with("__torch__.torch.classes")) {
      return Wrong(path, "is of type ", type->annotation_str(), ", which has no form in this protocol");
    }
    out.set_type(type->name()->qualifiedName());
    for (size_t i = 0; i < object.slots().size(); ++i) {
      v1::Object::Field& field = *out.add_fields();
      field.set_name(type->getAttributeName(i));
      const absl::Status status = Write(object.getSlot(i), path.Field(field.name()), depth + 1, *field.mutable_value());
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  std::vector<at::Tensor>& payloads_;
  size_t values_ = 0;
};

}  // namespace

absl::Status ValueToMessage(const IValue& value, const std::string& name, v1::Value& message,
                            std::vector<at::Tensor>& payloads) {
  return Writer(payloads).Write(value, ValuePath(name), 0, message);
}

}  // namespace hearth
