#include "server/api/wire_tensor.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hearth::server {
namespace {

using Input = inference::ModelInferRequest::InferInputTensor;

constexpr uintptr_t kAlignment = 16;
// Fewer bytes are copied: that costs less than referring to them, and a slice as small as 23 bytes holds them in itself.
constexpr uint64_t kReferredFrom = 1024;

template <typename... Parts>
absl::Status Wrong(const Input& input, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("input '", input.name(), "' ", parts...));
}

struct Described {
  WireTensor tensor;  // all but the elements
  int64_t elements = 1;
};

absl::StatusOr<Described> Describe(const Input& input) {
  Described described;
  described.tensor.name = input.name();
  described.tensor.datatype = FindDatatype(std::string_view(input.datatype()));
  if (described.tensor.datatype == nullptr) return Wrong(input, "has the unknown datatype '", input.datatype(), "'");
  // A dimension of 0 makes the tensor empty, however large the others are.
  bool empty = false;
  for (int64_t size : input.shape()) {
    if (size < 0) return Wrong(input, "has a dimension of ", size);
    empty = empty || size == 0;
  }
  // Elements and bytes fit with room to spare, strides included.
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 16;
  for (int64_t size : input.shape()) {
    const int64_t factor = std::max<int64_t>(size, 1);
    if (described.elements > kMost / factor) return Wrong(input, "has a shape of more elements than memory can hold");
    described.elements *= factor;
  }
  if (empty) described.elements = 0;
  described.tensor.shape.assign(input.shape().begin(), input.shape().end());
  return described;
}

std::string Gather(const RawBytes& bytes) {
  std::string whole;
  whole.reserve(bytes.size);
  for (const RawBytes::Piece& piece : bytes.pieces) {
    whole.append(reinterpret_cast<const char*>(piece.data()), piece.size);
  }
  return whole;
}

absl::StatusOr<WireTensor> ReadRawStrings(const Input& input, Described described, const RawBytes& bytes) {
  const std::string whole = Gather(bytes);
  std::vector<std::string>& strings = described.tensor.strings;
  size_t at = 0;
  while (at < whole.size()) {
    uint32_t length = 0;
    if (whole.size() - at < sizeof(length)) {
      return Wrong(input, "ends within the length of element ", strings.size());
    }
    std::memcpy(&length, whole.data() + at, sizeof(length));
    at += sizeof(length);
    if (whole.size() - at < length) {
      return Wrong(input, "ends within element ", strings.size(), ", which should have ", length, " bytes; ",
                   whole.size() - at, " are left");
    }
    strings.emplace_back(whole, at, length);
    at += length;
  }
  if (static_cast<int64_t>(strings.size()) != described.elements) {
    return Wrong(input, "of shape ", ShapeText(described.tensor.shape), " expects ", described.elements,
                 " elements, got ", strings.size());
  }
  return std::move(described.tensor);
}

at::Tensor Allocate(const WireTensor& tensor) {
  // What at::empty comes to, without the way there.
  return at::detail::empty_cpu(tensor.shape, tensor.datatype->scalar);
}

// Copies typed contents to a tensor of `To`, refusing values that `To` cannot hold.
template <typename To, typename Field>
absl::StatusOr<WireTensor> Convert(const Input& input, Described described, const Field& field,
                                   const char* field_name) {
  if (field.size() != described.elements) {
    return Wrong(input, "of shape ", ShapeText(described.tensor.shape), " expects ", described.elements,
                 " elements in ", field_name, ", got ", field.size());
  }
  described.tensor.tensor = Allocate(described.tensor);
  To* out = static_cast<To*>(described.tensor.tensor.mutable_data_ptr());
  for (const auto value : field) {
    const To converted = static_cast<To>(value);
    if constexpr (std::is_integral_v<To>) {
      if (static_cast<std::decay_t<decltype(value)>>(converted) != value) {
        return Wrong(input, "of ", described.tensor.datatype->name, " has the element ", value, ", which does not fit");
      }
    }
    *out++ = converted;
  }
  return std::move(described.tensor);
}

}  // namespace

std::string ShapeText(const std::vector<int64_t>& shape) { return absl::StrCat("[", absl::StrJoin(shape, ","), "]"); }

absl::StatusOr<WireTensor> ReadRaw(const Input& input, const RawBytes& bytes) {
  auto described = Describe(input);
  if (!described.ok()) return described.status();
  if (described->tensor.datatype->is_bytes()) return ReadRawStrings(input, *std::move(described), bytes);

  WireTensor& tensor = described->tensor;
  const uint64_t expected = static_cast<uint64_t>(described->elements) * tensor.datatype->size;
  if (bytes.size != expected) {
    return Wrong(input, "of shape ", ShapeText(tensor.shape), " and datatype ", tensor.datatype->name, " expects ",
                 expected, " bytes, got ", bytes.size);
  }
  if (bytes.pieces.size() == 1 && bytes.size >= kReferredFrom &&
      reinterpret_cast<uintptr_t>(bytes.pieces[0].data()) % kAlignment == 0 &&
      tensor.datatype->scalar != c10::ScalarType::Bool) {
    // The message's memory is ours: gRPC hands each byte of it to one call only, so a model may write to it.
    const grpc::Slice slice = bytes.pieces[0].slice;
    tensor.tensor = at::for_blob(const_cast<uint8_t*>(bytes.pieces[0].data()), tensor.shape)
                        .deleter([slice](void*) {})
                        .options(at::TensorOptions(tensor.datatype->scalar))
                        .resizeable_storage()
                        .allocator(c10::GetCPUAllocator())
                        .make_tensor();
    return std::move(tensor);
  }
  tensor.tensor = Allocate(tensor);
  auto* out = static_cast<uint8_t*>(tensor.tensor.mutable_data_ptr());
  for (const RawBytes::Piece& piece : bytes.pieces) {
    if (piece.size == 0) continue;
    std::memcpy(out, piece.data(), piece.size);
    out += piece.size;
  }
  if (tensor.datatype->scalar == c10::ScalarType::Bool) {
    // Any byte may come; a C++ bool that is neither 0 nor 1 is undefined behaviour in every kernel.
    auto* begin = static_cast<uint8_t*>(tensor.tensor.mutable_data_ptr());
    std::transform(begin, begin + expected, begin, [](uint8_t byte) { return byte != 0; });
  }
  return std::move(tensor);
}

absl::StatusOr<WireTensor> ReadContents(const Input& input) {
  auto described = Describe(input);
  if (!described.ok()) return described.status();
  const inference::InferTensorContents& contents = input.contents();
  switch (described->tensor.datatype->config) {
    case inference::TYPE_BOOL:
      return Convert<bool>(input, *std::move(described), contents.bool_contents(), "bool_contents");
    case inference::TYPE_UINT8:
      return Convert<uint8_t>(input, *std::move(described), contents.uint_contents(), "uint_contents");
    case inference::TYPE_UINT16:
      return Convert<uint16_t>(input, *std::move(described), contents.uint_contents(), "uint_contents");
    case inference::TYPE_UINT32:
      return Convert<uint32_t>(input, *std::move(described), contents.uint_contents(), "uint_contents");
    case inference::TYPE_UINT64:
      return Convert<uint64_t>(input, *std::move(described), contents.uint64_contents(), "uint64_contents");
    case inference::TYPE_INT8:
      return Convert<int8_t>(input, *std::move(described), contents.int_contents(), "int_contents");
    case inference::TYPE_INT16:
      return Convert<int16_t>(input, *std::move(described), contents.int_contents(), "int_contents");
    case inference::TYPE_INT32:
      return Convert<int32_t>(input, *std::move(described), contents.int_contents(), "int_contents");
    case inference::TYPE_INT64:
      return Convert<int64_t>(input, *std::move(described), contents.int64_contents(), "int64_contents");
    case inference::TYPE_FP32:
      return Convert<float>(input, *std::move(described), contents.fp32_contents(), "fp32_contents");
    case inference::TYPE_FP64:
      return Convert<double>(input, *std::move(described), contents.fp64_contents(), "fp64_contents");
    case inference::TYPE_STRING: {
      if (contents.bytes_contents_size() != described->elements) {
        return Wrong(input, "of shape ", ShapeText(described->tensor.shape), " expects ", described->elements,
                     " elements in bytes_contents, got ", contents.bytes_contents_size());
      }
      described->tensor.strings.assign(contents.bytes_contents().begin(), contents.bytes_contents().end());
      return std::move(described->tensor);
    }
    default:
      return Wrong(input, "of ", described->tensor.datatype->name,
                   " has no typed contents in the protocol: send it in raw_input_contents");
  }
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

}  // namespace hearth::server
