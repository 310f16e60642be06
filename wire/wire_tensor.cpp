#include "wire/wire_tensor.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "wire/conversion_check.h"

namespace hearth {
namespace {

template <typename... Parts>
absl::Status Wrong(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

absl::StatusOr<std::vector<std::string>> ReadStrings(const RawBytes& bytes) {
  const std::string whole = bytes.Joined();
  std::vector<std::string> strings;
  size_t at = 0;
  while (at < whole.size()) {
    uint32_t length = 0;
    if (whole.size() - at < sizeof(length)) return Wrong("ends within the length of element ", strings.size());
    std::memcpy(&length, whole.data() + at, sizeof(length));
    at += sizeof(length);
    if (whole.size() - at < length) {
      return Wrong("ends within element ", strings.size(), ", which should have ", length, " bytes; ",
                   whole.size() - at, " are left");
    }
    CheckConversionAt(strings.size());
    strings.emplace_back(whole, at, length);
    at += length;
  }
  return strings;
}

}  // namespace

absl::StatusOr<WireTensor> DescribeTensor(std::string_view name, std::string_view datatype, c10::IntArrayRef shape) {
  WireTensor tensor;
  tensor.name = name;
  tensor.datatype = FindDatatype(datatype);
  if (tensor.datatype == nullptr) return Wrong("has the unknown datatype '", std::string(datatype), "'");
  for (const int64_t size : shape) {
    if (size < 0) return Wrong("has a dimension of ", size);
  }
  if (!CountElements(shape).has_value()) return Wrong("has a shape of more elements than memory can hold");
  tensor.shape = shape.vec();
  return tensor;
}

absl::StatusOr<WireTensor> ReadRaw(std::string_view name, std::string_view datatype, c10::IntArrayRef shape,
                                   const RawBytes& bytes) {
  auto described = DescribeTensor(name, datatype, shape);
  if (!described.ok()) return described;
  WireTensor& tensor = *described;
  const int64_t elements = *CountElements(shape);
  if (tensor.datatype->is_bytes()) {
    auto strings = ReadStrings(bytes);
    if (!strings.ok()) return strings.status();
    if (static_cast<int64_t>(strings->size()) != elements) {
      return Wrong("of shape ", ShapeText(shape), " expects ", elements, " elements, got ", strings->size());
    }
    tensor.strings = *std::move(strings);
    return described;
  }
  const uint64_t expected = static_cast<uint64_t>(elements) * tensor.datatype->size;
  if (bytes.size != expected) {
    return Wrong("of shape ", ShapeText(shape), " and datatype ", tensor.datatype->name, " expects ", expected,
                 " bytes, got ", bytes.size);
  }
  tensor.tensor = TensorOfBytes(bytes, shape, tensor.datatype->scalar);
  return described;
}

std::string EncodeStrings(const std::vector<std::string>& strings) {
  size_t size = 0;
  for (const std::string& string : strings) size += sizeof(uint32_t) + string.size();
  std::string encoded;
  encoded.reserve(size);
  for (const std::string& string : strings) {
    const auto length = static_cast<uint32_t>(string.size());
    encoded.append(reinterpret_cast<const char*>(&length), sizeof(length));
    encoded += string;
  }
  return encoded;
}

}  // namespace hearth
