#include "server/rest/json_tensor.h"

#include <ATen/EmptyTensor.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "absl/strings/charconv.h"
#include "absl/strings/str_cat.h"

namespace hearth::server {
namespace {

// An element's text in a message.
std::string Shown(std::string_view element) {
  constexpr size_t kMost = 40;
  return element.size() <= kMost ? std::string(element) : absl::StrCat(std::string(element.substr(0, kMost)), "...");
}

grpc::Slice SliceOf(at::Tensor tensor) {
  auto* owner = new at::Tensor(std::move(tensor));
  return grpc::Slice(
      owner->mutable_data_ptr(), owner->nbytes(), [](void* held) { delete static_cast<at::Tensor*>(held); }, owner);
}

grpc::Slice SliceOf(std::string text) {
  auto* owner = new std::string(std::move(text));
  return grpc::Slice(
      owner->data(), owner->size(), [](void* held) { delete static_cast<std::string*>(held); }, owner);
}

}  // namespace

absl::StatusOr<JsonTensor> JsonTensor::Create(const WireTensor& described, size_t text_size) {
  const Datatype& datatype = *described.datatype;
  if (datatype.scalar == c10::ScalarType::Half || datatype.scalar == c10::ScalarType::BFloat16) {
    return absl::InvalidArgumentError(
        absl::StrCat("of ", datatype.name, " cannot be given as JSON: send it as binary data"));
  }
  const int64_t elements = *CountElements(described.shape);
  // Each element but the last has a comma behind it.
  if (static_cast<uint64_t>(elements) > text_size / 2 + 1) {
    return absl::InvalidArgumentError(absl::StrCat("of shape ", ShapeText(described.shape), " expects ", elements,
                                                   " elements, and its data has fewer"));
  }
  JsonTensor tensor(datatype, described.shape, elements);
  if (!datatype.is_bytes()) {
    const auto size = elements * static_cast<int64_t>(datatype.size);
    tensor.bytes_ = at::detail::empty_cpu({size}, c10::ScalarType::Byte);
    tensor.out_ = static_cast<uint8_t*>(tensor.bytes_.mutable_data_ptr());
  }
  return tensor;
}

bool JsonTensor::HasRoom() {
  if (count_ < elements_) return true;
  error_ = absl::InvalidArgumentError(
      absl::StrCat("of shape ", ShapeText(shape_), " expects ", elements_, " elements, and its data has more"));
  return false;
}

bool JsonTensor::Refuse(std::string_view element) {
  error_ = absl::InvalidArgumentError(
      absl::StrCat("of ", datatype_->name, " has the element ", Shown(element), " at ", count_, ", which is not one"));
  return false;
}

template <typename T>
bool JsonTensor::Add(T value) {
  std::memcpy(out_, &value, sizeof(value));
  out_ += sizeof(value);
  ++count_;
  return true;
}

template <typename T>
bool JsonTensor::AddInteger(std::string_view text) {
  const char* const end = text.data() + text.size();
  if constexpr (std::is_unsigned_v<T>) {
    if (text == "-0") return Add(T{0});
  }
  T value = 0;
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end) return Refuse(text);
  return Add(value);
}

template <typename T>
bool JsonTensor::AddFloat(std::string_view text) {
  const char* const end = text.data() + text.size();
  T value = 0;
  auto error = std::from_chars(text.data(), end, value).ec;
  if (error == std::errc::result_out_of_range) {
    // Too small is 0, or nearly; too large is refused.
    absl::from_chars(text.data(), end, value);
    if (std::abs(value) < 1) error = std::errc();
  }
  if (error != std::errc()) return Refuse(text);
  return Add(value);
}

bool JsonTensor::Number(std::string_view text) {
  if (!HasRoom()) return false;
  switch (datatype_->scalar) {
    case c10::ScalarType::Float:
      return AddFloat<float>(text);
    case c10::ScalarType::Double:
      return AddFloat<double>(text);
    case c10::ScalarType::Byte:
      return AddInteger<uint8_t>(text);
    case c10::ScalarType::UInt16:
      return AddInteger<uint16_t>(text);
    case c10::ScalarType::UInt32:
      return AddInteger<uint32_t>(text);
    case c10::ScalarType::UInt64:
      return AddInteger<uint64_t>(text);
    case c10::ScalarType::Char:
      return AddInteger<int8_t>(text);
    case c10::ScalarType::Short:
      return AddInteger<int16_t>(text);
    case c10::ScalarType::Int:
      return AddInteger<int32_t>(text);
    case c10::ScalarType::Long:
      return AddInteger<int64_t>(text);
    default:
      return Refuse(text);
  }
}

bool JsonTensor::Bool(bool value) {
  if (!HasRoom()) return false;
  return datatype_->scalar == c10::ScalarType::Bool ? Add(static_cast<uint8_t>(value))
                                                    : Refuse(value ? "true" : "false");
}

bool JsonTensor::String(std::string_view text) {
  if (!HasRoom()) return false;
  if (!datatype_->is_bytes()) return Refuse(absl::StrCat("\"", Shown(text), "\""));
  const auto length = static_cast<uint32_t>(text.size());
  strings_.append(reinterpret_cast<const char*>(&length), sizeof(length));
  strings_ += text;
  ++count_;
  return true;
}

bool JsonTensor::Null() { return HasRoom() && Refuse("null"); }

bool JsonTensor::Object() { return HasRoom() && Refuse("{...}"); }

absl::StatusOr<RawBytes> JsonTensor::Finish() && {
  if (count_ != elements_) {
    return absl::InvalidArgumentError(
        absl::StrCat("of shape ", ShapeText(shape_), " expects ", elements_, " elements, got ", count_));
  }
  RawBytes raw;
  raw.size = datatype_->is_bytes() ? strings_.size() : bytes_.nbytes();
  if (raw.size == 0) return raw;
  raw.pieces.push_back(
      {datatype_->is_bytes() ? SliceOf(std::move(strings_)) : SliceOf(std::move(bytes_)), 0, raw.size});
  return raw;
}

}  // namespace hearth::server
