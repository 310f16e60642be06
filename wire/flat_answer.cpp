#include "wire/flat_answer.h"

#include <ATen/ops/full.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "wire/dtypes.h"
#include "wire/raw_bytes.h"

namespace hearth {
namespace {

class ValueFlattener {
 public:
  explicit ValueFlattener(const v1::CallResponse& answer) : answer_(answer) {}

  absl::StatusOr<std::vector<WireTensor>> Flatten() && {
    if (absl::Status status = Add("result", answer_.result()); !status.ok()) return status;
    return std::move(tensors_);
  }

 private:
  absl::Status Add(const std::string& path, const v1::Value& value) {
    switch (value.kind_case()) {
      case v1::Value::kBoolValue:
        return AddNumber(path, value.bool_value(), c10::ScalarType::Bool);
      case v1::Value::kIntValue:
        return AddNumber(path, value.int_value(), c10::ScalarType::Long);
      case v1::Value::kFloatValue:
        return AddNumber(path, value.float_value(), c10::ScalarType::Double);
      case v1::Value::kComplexValue:
        return absl::UnimplementedError("complex numbers are not compared");
      case v1::Value::kTensor:
        return AddTensor(path, value.tensor());
      case v1::Value::kList:
        return AddAll(path, "list", value.list().items());
      case v1::Value::kTuple:
        return AddAll(path, "tuple", value.tuple().items());
      case v1::Value::kDict:
        return AddDict(path, value.dict());
      case v1::Value::kObject:
        AddText(path, "object");
        for (const auto& field : value.object().fields()) {
          if (absl::Status status = Add(absl::StrCat(path, ".", field.name()), field.value()); !status.ok()) {
            return status;
          }
        }
        return absl::OkStatus();
      default:
        // Texts, devices, members of enumerations, None: what they are written as.
        AddText(path, value.SerializeAsString());
        return absl::OkStatus();
    }
  }

  template <typename Number>
  absl::Status AddNumber(const std::string& path, Number number, c10::ScalarType dtype) {
    tensors_.push_back({path, FindDatatype(dtype), {1}, at::full({1}, number, dtype), {}});
    return absl::OkStatus();
  }

  void AddText(const std::string& path, std::string text) {
    tensors_.push_back({path, BytesDatatype(), {1}, {}, {std::move(text)}});
  }

  absl::Status AddTensor(const std::string& path, const v1::Tensor& tensor) {
    const auto dtype = DtypeOfName(tensor.dtype());
    const Datatype* const datatype = dtype ? FindDatatype(*dtype) : nullptr;
    if (tensor.payload() >= static_cast<uint32_t>(answer_.payloads_size())) {
      return absl::InvalidArgumentError(absl::StrCat(path, " has no payload"));
    }
    const std::string& payload = answer_.payloads(static_cast<int>(tensor.payload()));
    if (datatype == nullptr) {
      // A dtype that the Open Inference Protocol does not have: the same bytes or others.
      AddText(path, absl::StrCat(tensor.SerializeAsString(), payload));
      return absl::OkStatus();
    }
    const c10::IntArrayRef shape(tensor.shape().data(), static_cast<size_t>(tensor.shape_size()));
    auto read = ReadRaw(path, datatype->name, shape, RawBytes::Of(payload));
    if (!read.ok()) return absl::InvalidArgumentError(absl::StrCat(path, " ", read.status().message()));
    tensors_.push_back(*std::move(read));
    return absl::OkStatus();
  }

  template <typename Items>
  absl::Status AddAll(const std::string& path, const char* kind, const Items& items) {
    AddText(path, absl::StrCat(kind, " of ", items.size()));
    for (int i = 0; i < items.size(); ++i) {
      if (absl::Status status = Add(absl::StrCat(path, ".", i), items[i]); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status AddDict(const std::string& path, const v1::Dict& dict) {
    AddText(path, absl::StrCat("dict of ", dict.entries_size()));
    for (const auto& entry : dict.entries()) {
      std::string key = entry.key().has_str_value()   ? entry.key().str_value()
                        : entry.key().has_int_value() ? absl::StrCat(entry.key().int_value())
                                                      : entry.key().SerializeAsString();
      if (absl::Status status = Add(absl::StrCat(path, ".", key), entry.value()); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  const v1::CallResponse& answer_;
  std::vector<WireTensor> tensors_;
};

}  // namespace

absl::StatusOr<std::vector<WireTensor>> FlattenAnswer(const v1::CallResponse& answer) {
  return ValueFlattener(answer).Flatten();
}

}  // namespace hearth
