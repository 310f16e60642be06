#include "cli/wire_tensor.h"

#include <ATen/ops/empty.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <array>
#include <cstring>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hearth::cli {
namespace {

struct Datatype {
  std::string_view name;
  c10::ScalarType type;
  size_t size;
};

constexpr std::array<Datatype, 13> kDatatypes = {{
    {"BOOL", c10::ScalarType::Bool, 1},
    {"UINT8", c10::ScalarType::Byte, 1},
    {"UINT16", c10::ScalarType::UInt16, 2},
    {"UINT32", c10::ScalarType::UInt32, 4},
    {"UINT64", c10::ScalarType::UInt64, 8},
    {"INT8", c10::ScalarType::Char, 1},
    {"INT16", c10::ScalarType::Short, 2},
    {"INT32", c10::ScalarType::Int, 4},
    {"INT64", c10::ScalarType::Long, 8},
    {"FP16", c10::ScalarType::Half, 2},
    {"BF16", c10::ScalarType::BFloat16, 2},
    {"FP32", c10::ScalarType::Float, 4},
    {"FP64", c10::ScalarType::Double, 8},
}};

const Datatype* FindDatatype(std::string_view name) {
  for (const Datatype& datatype : kDatatypes) {
    if (datatype.name == name) return &datatype;
  }
  return nullptr;
}

template <typename From, typename To>
std::string ConvertAll(const std::string& bytes) {
  const size_t count = bytes.size() / sizeof(From);
  std::string converted(count * sizeof(To), '\0');
  for (size_t i = 0; i < count; ++i) {
    From from;
    std::memcpy(&from, bytes.data() + i * sizeof(From), sizeof(From));
    const To to = static_cast<To>(from);
    std::memcpy(converted.data() + i * sizeof(To), &to, sizeof(To));
  }
  return converted;
}

template <typename T>
void Append(T element, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&element), sizeof element);
}

}  // namespace

std::optional<int64_t> ElementCount(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(count, size, &count)) return std::nullopt;
  }
  return count;
}

size_t ElementSize(std::string_view datatype) {
  const Datatype* found = FindDatatype(datatype);
  return found == nullptr ? 0 : found->size;
}

absl::Status CheckWireTensor(const WireTensor& tensor) {
  if (tensor.datatype == "BYTES") return ToStrings(tensor).status();
  const size_t size = ElementSize(tensor.datatype);
  const std::optional<int64_t> count = ElementCount(tensor.shape);
  if (size == 0) return absl::InvalidArgumentError(absl::StrCat("unknown datatype '", tensor.datatype, "'"));
  size_t bytes = 0;
  if (!count || __builtin_mul_overflow(static_cast<size_t>(*count), size, &bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("impossible shape [", absl::StrJoin(tensor.shape, ", "), "]"));
  }
  if (tensor.bytes.size() != bytes) {
    return absl::InvalidArgumentError(absl::StrCat("expected ", bytes, " bytes for ", tensor.datatype, " [",
                                                   absl::StrJoin(tensor.shape, ", "), "], got ", tensor.bytes.size()));
  }
  return absl::OkStatus();
}

absl::StatusOr<at::Tensor> ToTensor(const WireTensor& tensor) {
  if (const absl::Status status = CheckWireTensor(tensor); !status.ok()) return status;
  const Datatype* datatype = FindDatatype(tensor.datatype);
  if (datatype == nullptr) return absl::InvalidArgumentError("BYTES are not numbers");
  at::Tensor numbers = at::empty(tensor.shape, at::TensorOptions().dtype(datatype->type));
  if (!tensor.bytes.empty()) std::memcpy(numbers.mutable_data_ptr(), tensor.bytes.data(), tensor.bytes.size());
  return numbers;
}

absl::StatusOr<std::vector<std::string>> ToStrings(const WireTensor& tensor) {
  std::vector<std::string> elements;
  std::string_view rest = tensor.bytes;
  while (!rest.empty()) {
    uint32_t length = 0;
    if (rest.size() < sizeof length) return absl::InvalidArgumentError("a length is cut off");
    std::memcpy(&length, rest.data(), sizeof length);
    rest.remove_prefix(sizeof length);
    if (rest.size() < length) {
      return absl::InvalidArgumentError(absl::StrCat("an element of ", length, " bytes has ", rest.size()));
    }
    elements.emplace_back(rest.substr(0, length));
    rest.remove_prefix(length);
  }
  if (ElementCount(tensor.shape) != static_cast<int64_t>(elements.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat(elements.size(), " elements for the shape [", absl::StrJoin(tensor.shape, ", "), "]"));
  }
  return elements;
}

void AppendString(std::string_view element, std::string& bytes) {
  Append(static_cast<uint32_t>(element.size()), bytes);
  bytes.append(element);
}

WireTensor Bfloat16FromFloat(const WireTensor& tensor) {
  return {"BF16", tensor.shape, ConvertAll<float, c10::BFloat16>(tensor.bytes)};
}

WireTensor FloatFromBfloat16(const WireTensor& tensor) {
  return {"FP32", tensor.shape, ConvertAll<c10::BFloat16, float>(tensor.bytes)};
}

absl::StatusOr<WireTensor> RandomTensor(std::string_view datatype, std::vector<int64_t> shape, uint64_t seed) {
  const std::optional<int64_t> count = ElementCount(shape);
  if (!count) return absl::InvalidArgumentError(absl::StrCat("impossible shape [", absl::StrJoin(shape, ", "), "]"));
  if (datatype != "BYTES" && ElementSize(datatype) == 0) {
    return absl::InvalidArgumentError(absl::StrCat("unknown datatype '", std::string(datatype), "'"));
  }
  WireTensor tensor{std::string(datatype), std::move(shape), ""};
  std::mt19937_64 generator(seed);
  for (int64_t i = 0; i < *count; ++i) {
    const double unit = static_cast<double>(generator() >> 11) * 0x1p-53;
    const auto digit = static_cast<int64_t>(unit * 10);
    if (datatype == "BYTES") {
      AppendString("word" + std::to_string(digit), tensor.bytes);
    } else if (datatype == "FP32") {
      Append(static_cast<float>(unit), tensor.bytes);
    } else if (datatype == "FP64") {
      Append(unit, tensor.bytes);
    } else if (datatype == "FP16") {
      Append(c10::Half(static_cast<float>(unit)), tensor.bytes);
    } else if (datatype == "BF16") {
      Append(c10::BFloat16(static_cast<float>(unit)), tensor.bytes);
    } else {
      const int64_t integer = datatype == "BOOL" ? digit % 2 : digit;
      tensor.bytes.append(reinterpret_cast<const char*>(&integer), ElementSize(datatype));
    }
  }
  return tensor;
}

}  // namespace hearth::cli
