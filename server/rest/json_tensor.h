// Contents of one tensor of JSON, element by element, to the raw bytes of its datatype (wire_tensor.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "wire/wire_tensor.h"

namespace hearth::server {

// Takes elements in row-major order, however they are nested. Each of the calls is false for an element that cannot be
// one of the datatype, or is one too many; error() then says what was expected, to follow the tensor's name.
class JsonTensor {
 public:
  // `described` has datatype and shape. `text_size` bounds the text of the contents, and so how many elements may come:
  // no memory is taken for more. kInvalidArgument for FP16 and BF16, which JSON does not carry.
  static absl::StatusOr<JsonTensor> Create(const WireTensor& described, size_t text_size);

  bool Number(std::string_view text);
  bool Bool(bool value);
  bool String(std::string_view text);
  bool Null();
  bool Object();

  const absl::Status& error() const { return error_; }
  // kInvalidArgument if elements are missing.
  absl::StatusOr<RawBytes> Finish() &&;

 private:
  JsonTensor(const Datatype& datatype, std::vector<int64_t> shape, int64_t elements)
      : datatype_(&datatype), shape_(std::move(shape)), elements_(elements) {}

  bool HasRoom();
  bool Refuse(std::string_view element);
  template <typename T>
  bool AddInteger(std::string_view text);
  template <typename T>
  bool AddFloat(std::string_view text);
  template <typename T>
  bool Add(T value);

  const Datatype* datatype_;
  std::vector<int64_t> shape_;
  int64_t elements_ = 0;
  int64_t count_ = 0;
  at::Tensor bytes_;  // not for BYTES
  uint8_t* out_ = nullptr;
  std::string strings_;  // for BYTES: as they are sent
  absl::Status error_;
};

}  // namespace hearth::server
