// A named tensor of the Open Inference Protocol, and its raw form in messages. An element of BYTES is its length in
// four little-endian bytes, then its bytes; all others are as raw_bytes.h has them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "wire/datatypes.h"
#include "wire/raw_bytes.h"

namespace hearth {

struct WireTensor {
  std::string name;
  const Datatype* datatype = nullptr;
  std::vector<int64_t> shape;
  at::Tensor tensor;                 // not for BYTES; on the CPU, dense and contiguous
  std::vector<std::string> strings;  // for BYTES, in row-major order
};

// All of it but the contents, which are an undefined tensor and no strings. kInvalidArgument for an unknown datatype, a
// negative dimension or a shape that overflows; the message says what it is that the tensor has ("has a dimension of
// -1"), for callers to put the tensor's name before it.
absl::StatusOr<WireTensor> DescribeTensor(std::string_view name, std::string_view datatype, c10::IntArrayRef shape);

// With its contents. Also kInvalidArgument for bytes that do not fit (expected and got).
absl::StatusOr<WireTensor> ReadRaw(std::string_view name, std::string_view datatype, c10::IntArrayRef shape,
                                   const RawBytes& bytes);

// The raw form of BYTES.
std::string EncodeStrings(const std::vector<std::string>& strings);

}  // namespace hearth
