#include "server/api/typed_contents.h"

#include <ATen/ops/empty.h>

#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hearth::server {
namespace {

template <typename... Parts>
absl::Status WrongContents(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

absl::Status CheckCount(const WireTensor& tensor, int64_t count, const char* field_name) {
  const int64_t expected = *CountElements(tensor.shape);
  if (count == expected) return absl::OkStatus();
  return WrongContents("of shape ", ShapeText(tensor.shape), " expects ", expected, " elements in ", field_name,
                       ", got ", count);
}

// Copies typed contents to a tensor of `To`, refusing values that `To` cannot hold.
template <typename To, typename Field>
absl::StatusOr<WireTensor> Convert(WireTensor tensor, const Field& field, const char* field_name) {
  if (absl::Status status = CheckCount(tensor, field.size(), field_name); !status.ok()) return status;
  tensor.tensor = at::empty(tensor.shape, at::TensorOptions(tensor.datatype->scalar));
  To* out = static_cast<To*>(tensor.tensor.mutable_data_ptr());
  for (const auto value : field) {
    const To converted = static_cast<To>(value);
    if constexpr (std::is_integral_v<To>) {
      if (static_cast<std::decay_t<decltype(value)>>(converted) != value) {
        return WrongContents("of ", tensor.datatype->name, " has the element ", value, ", which does not fit");
      }
    }
    *out++ = converted;
  }
  return tensor;
}

}  // namespace

absl::StatusOr<WireTensor> ReadContents(const inference::ModelInferRequest::InferInputTensor& input) {
  const c10::IntArrayRef shape(input.shape().data(), input.shape_size());
  auto tensor = DescribeTensor(input.name(), input.datatype(), shape);
  if (!tensor.ok()) return tensor;
  const inference::InferTensorContents& contents = input.contents();
  switch (tensor->datatype->config) {
    case inference::TYPE_BOOL:
      return Convert<bool>(*std::move(tensor), contents.bool_contents(), "bool_contents");
    case inference::TYPE_UINT8:
      return Convert<uint8_t>(*std::move(tensor), contents.uint_contents(), "uint_contents");
    case inference::TYPE_UINT16:
      return Convert<uint16_t>(*std::move(tensor), contents.uint_contents(), "uint_contents");
    case inference::TYPE_UINT32:
      return Convert<uint32_t>(*std::move(tensor), contents.uint_contents(), "uint_contents");
    case inference::TYPE_UINT64:
      return Convert<uint64_t>(*std::move(tensor), contents.uint64_contents(), "uint64_contents");
    case inference::TYPE_INT8:
      return Convert<int8_t>(*std::move(tensor), contents.int_contents(), "int_contents");
    case inference::TYPE_INT16:
      return Convert<int16_t>(*std::move(tensor), contents.int_contents(), "int_contents");
    case inference::TYPE_INT32:
      return Convert<int32_t>(*std::move(tensor), contents.int_contents(), "int_contents");
    case inference::TYPE_INT64:
      return Convert<int64_t>(*std::move(tensor), contents.int64_contents(), "int64_contents");
    case inference::TYPE_FP32:
      return Convert<float>(*std::move(tensor), contents.fp32_contents(), "fp32_contents");
    case inference::TYPE_FP64:
      return Convert<double>(*std::move(tensor), contents.fp64_contents(), "fp64_contents");
    case inference::TYPE_STRING: {
      absl::Status status = CheckCount(*tensor, contents.bytes_contents_size(), "bytes_contents");
      if (!status.ok()) return status;
      tensor->strings.assign(contents.bytes_contents().begin(), contents.bytes_contents().end());
      return tensor;
    }
    default:
      return WrongContents("of ", tensor->datatype->name,
                           " has no typed contents in the protocol: send it in raw_input_contents");
  }
}

}  // namespace hearth::server
