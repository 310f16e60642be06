// A named tensor between the protocol and the model, and how it is read from a message: raw bytes as they lie in the
// message's slices, or typed contents.
//
// Raw bytes that lie in one piece, aligned to 16 bytes and not few, become a tensor over the message's own memory, which
// then lives as long as the tensor; all else is copied once, into memory that LibTorch's allocator aligns.
#pragma once

#include <ATen/core/Tensor.h>
#include <grpcpp/support/slice.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/inference/service.pb.h"
#include "server/api/datatypes.h"

namespace hearth::server {

struct WireTensor {
  std::string name;
  const Datatype* datatype = nullptr;
  std::vector<int64_t> shape;
  at::Tensor tensor;                 // not for BYTES; on the CPU, dense and contiguous
  std::vector<std::string> strings;  // for BYTES, in row-major order
};

// One bytes field of a message, in the pieces in which it was received.
struct RawBytes {
  struct Piece {
    grpc::Slice slice;  // holds the memory
    size_t offset = 0;
    size_t size = 0;

    const uint8_t* data() const { return slice.begin() + offset; }
  };

  absl::InlinedVector<Piece, 1> pieces;
  uint64_t size = 0;
};

// "[2,3]"
std::string ShapeText(const std::vector<int64_t>& shape);

// Both give kInvalidArgument, naming the input, for an unknown datatype, a negative dimension, a shape that overflows,
// or contents that do not fit it (expected and got).
absl::StatusOr<WireTensor> ReadRaw(const inference::ModelInferRequest::InferInputTensor& input, const RawBytes& bytes);
absl::StatusOr<WireTensor> ReadContents(const inference::ModelInferRequest::InferInputTensor& input);

// The raw form of BYTES: each element's length in four little-endian bytes, then its bytes.
std::string EncodeStrings(const std::vector<std::string>& strings);

}  // namespace hearth::server
