// A tensor as the Open Inference Protocol carries it: a datatype's name ("FP32", "BYTES"), a shape, and raw bytes,
// little-endian in row-major order; an element of BYTES is its length in four bytes, then its bytes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace hearth::cli {

struct WireTensor {
  std::string datatype;
  std::vector<int64_t> shape;
  std::string bytes;
};

// The number of elements; nothing if a size is negative or the product does not fit.
std::optional<int64_t> ElementCount(const std::vector<int64_t>& shape);

// Bytes of one element; 0 for BYTES and for names that the protocol does not have.
size_t ElementSize(std::string_view datatype);

// Errors (kInvalidArgument) where the bytes do not fit the datatype and the shape.
absl::Status CheckWireTensor(const WireTensor& tensor);

// The numbers as a tensor that holds a copy of them. Not for BYTES.
absl::StatusOr<at::Tensor> ToTensor(const WireTensor& tensor);
// The elements of BYTES.
absl::StatusOr<std::vector<std::string>> ToStrings(const WireTensor& tensor);

void AppendString(std::string_view element, std::string& bytes);

// FP32 numbers rounded to BF16 (to nearest, ties to even), and BF16 widened to FP32: files have no BF16.
WireTensor Bfloat16FromFloat(const WireTensor& tensor);
WireTensor FloatFromBfloat16(const WireTensor& tensor);

// Seeded: floats in [0, 1), integers in 0..9, booleans, short words. kInvalidArgument for a datatype that is unknown.
absl::StatusOr<WireTensor> RandomTensor(std::string_view datatype, std::vector<int64_t> shape, uint64_t seed);

}  // namespace hearth::cli
