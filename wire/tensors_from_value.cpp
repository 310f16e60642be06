#include "wire/tensors_from_value.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/class_type.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/empty.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/support/text.h"
#include "wire/conversion_check.h"
#include "wire/dtypes.h"

namespace hearth {
namespace {

using c10::IValue;

// An answer nested deeper, or of more parts, is a mistake or an attack. What holds itself counts each time that it is
// met.
constexpr int kDeepest = 64;
constexpr size_t kMostParts = 1 << 20;

std::string ChildPath(const std::string& path, const std::string& child) {
  return path.empty() ? child : absl::StrCat(path, ".", child);
}

class Flattener {
 public:
  absl::Status Visit(const IValue& value, const std::string& path, int depth) {
    if (depth > kDeepest) return Refuse(path, absl::StrCat("nested deeper than ", kDeepest, " levels"));
    if (++parts_ > kMostParts) return Refuse(path, absl::StrCat("one of more than ", kMostParts, " parts"));
    CheckConversionAt(parts_);
    if (value.isNone()) return AddNone(path);
    if (value.isTensor()) return VisitTensor(value.toTensor(), path);
    if (value.isInt()) return AddNumbers<int64_t>(path, {}, {value.toInt()});
    if (value.isDouble()) return AddNumbers<double>(path, {}, {value.toDouble()});
    if (value.isBool()) return AddNumbers<bool>(path, {}, {value.toBool()});
    if (value.isString()) return AddStrings(path, {}, {value.toStringRef()});
    if (value.isDevice()) return AddStrings(path, {}, {value.toDevice().str()});
    if (value.isList()) return VisitList(value, path, depth);
    if (value.isTuple()) return VisitTuple(value.toTupleRef(), path, depth);
    if (value.isGenericDict()) return VisitDict(value.toGenericDict(), path, depth);
    if (value.isEnum()) return Visit(value.toEnumHolder()->value(), path, depth + 1);
    if (value.isObject()) return VisitObject(*value.toObject(), path, depth);
    return Refuse(path, absl::StrCat("of type ", value.type()->annotation_str()));
  }

  std::vector<WireTensor> Take() { return std::move(leaves_); }

 private:
  static absl::Status Refuse(const std::string& path, const std::string& what) {
    return absl::InternalError(absl::StrCat("the model's answer", path.empty() ? "" : " at '", path,
                                            path.empty() ? "" : "'", " is ", what,
                                            ", which has no form in this protocol"));
  }

  absl::Status AddNone(const std::string& path) {
    leaves_.push_back({path, nullptr, {}, {}, {}});
    return absl::OkStatus();
  }

  absl::Status VisitTensor(const at::Tensor& tensor, const std::string& path) {
    if (!tensor.defined()) return AddNone(path);
    if (tensor.layout() != c10::kStrided || tensor.is_quantized()) {
      return Refuse(path, absl::StrCat("a tensor of ", tensor.toString()));
    }
    const Datatype* datatype = FindDatatype(tensor.scalar_type());
    if (datatype == nullptr) return Refuse(path, "a tensor of dtype " + NameOfDtype(tensor.scalar_type()));
    leaves_.push_back({path, datatype, tensor.sizes().vec(), tensor, {}});
    return absl::OkStatus();
  }

  template <typename Number>
  absl::Status AddNumbers(const std::string& path, std::vector<int64_t> shape, const std::vector<Number>& numbers) {
    const c10::ScalarType scalar = c10::CppTypeToScalarType<Number>::value;
    at::Tensor tensor = at::empty(shape, at::TensorOptions(scalar));
    std::copy(numbers.begin(), numbers.end(), static_cast<Number*>(tensor.mutable_data_ptr()));
    leaves_.push_back({path, FindDatatype(scalar), std::move(shape), std::move(tensor), {}});
    return absl::OkStatus();
  }

  absl::Status AddStrings(const std::string& path, std::vector<int64_t> shape, std::vector<std::string> strings) {
    leaves_.push_back({path, BytesDatatype(), std::move(shape), {}, std::move(strings)});
    return absl::OkStatus();
  }

  absl::Status VisitList(const IValue& value, const std::string& path, int depth) {
    const c10::List<IValue> list = value.toList();
    const auto size = static_cast<int64_t>(list.size());
    switch (list.elementType()->kind()) {
      case c10::TypeKind::IntType:
        return AddNumbers<int64_t>(path, {size}, value.toIntVector());
      case c10::TypeKind::FloatType:
        return AddNumbers<double>(path, {size}, value.toDoubleVector());
      case c10::TypeKind::BoolType: {
        std::vector<bool> bools;
        for (const IValue& element : value.toListRef()) bools.push_back(element.toBool());
        return AddNumbers<bool>(path, {size}, bools);
      }
      case c10::TypeKind::StringType: {
        std::vector<std::string> strings;
        for (const IValue& element : value.toListRef()) strings.push_back(element.toStringRef());
        return AddStrings(path, {size}, std::move(strings));
      }
      default:
        break;
    }
    for (int64_t i = 0; i < size; ++i) {
      absl::Status status = Visit(value.toListRef()[i], ChildPath(path, std::to_string(i)), depth + 1);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status VisitTuple(const c10::ivalue::Tuple& tuple, const std::string& path, int depth) {
    const auto type = tuple.type();
    for (size_t i = 0; i < tuple.elements().size(); ++i) {
      const std::string name = type->schema() != nullptr ? type->schema()->arguments()[i].name() : std::to_string(i);
      absl::Status status = Visit(tuple.elements()[i], ChildPath(path, name), depth + 1);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status VisitDict(const c10::impl::GenericDict& dict, const std::string& path, int depth) {
    for (const auto& entry : dict) {
      const IValue& key = entry.key();
      std::string name;
      if (key.isString()) {
        name = key.toStringRef();
      } else if (key.isInt()) {
        name = std::to_string(key.toInt());
      } else if (key.isBool()) {
        name = key.toBool() ? "True" : "False";
      } else {
        return Refuse(path, absl::StrCat("a dict with a key of type ", key.type()->annotation_str()));
      }
      // Names are texts of messages, which clients cannot read otherwise.
      if (!IsUtf8(name)) return Refuse(path, "a dict with a key that is not UTF-8");
      absl::Status status = Visit(entry.value(), ChildPath(path, name), depth + 1);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status VisitObject(const c10::ivalue::Object& object, const std::string& path, int depth) {
    const auto type = object.type();
    if (type->numAttributes() != object.slots().size() || type->is_module()) {
      return Refuse(path, absl::StrCat("of type ", type->annotation_str()));
    }
    for (size_t i = 0; i < object.slots().size(); ++i) {
      absl::Status status = Visit(object.getSlot(i), ChildPath(path, type->getAttributeName(i)), depth + 1);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  std::vector<WireTensor> leaves_;
  size_t parts_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<WireTensor>> TensorsFromValue(const IValue& value) {
  Flattener flattener;
  if (absl::Status status = flattener.Visit(value, "", 0); !status.ok()) return status;
  return flattener.Take();
}

}  // namespace hearth
