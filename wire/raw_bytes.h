// The bytes of a tensor as a message carries them: little-endian elements in row-major order, in the pieces in which
// gRPC received them.
#pragma once

#include <ATen/core/Tensor.h>
#include <grpcpp/support/slice.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/inlined_vector.h"

namespace hearth {

struct RawBytes {
  struct Piece {
    grpc::Slice slice;  // holds the memory
    size_t offset = 0;
    size_t size = 0;

    const uint8_t* data() const { return slice.begin() + offset; }
  };

  static RawBytes Of(std::string_view bytes);
  // All of it in one piece.
  std::string Joined() const;

  absl::InlinedVector<Piece, 1> pieces;
  uint64_t size = 0;
};

// The number of elements; nothing if a size is negative or a tensor of this shape could not be addressed.
std::optional<int64_t> CountElements(c10::IntArrayRef shape);

// Bytes that lie in one piece, aligned to 16 bytes and not few, become a tensor over the message's own memory, which
// then lives as long as the tensor; all else is copied once, into memory that LibTorch's allocator aligns. The number
// of bytes fits the shape. Booleans are made 0 or 1.
at::Tensor TensorOfBytes(const RawBytes& bytes, c10::IntArrayRef shape, c10::ScalarType scalar);

// The tensor in the form in which its bytes can be sent: on the CPU, contiguous, and over memory that nobody else can
// write. Call it when the answer that it came from is gone. Waits for the device if it is on one.
at::Tensor ReadyToSend(at::Tensor tensor);

// "[2,3]"
std::string ShapeText(c10::IntArrayRef shape);

}  // namespace hearth
