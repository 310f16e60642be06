// Compressed bytes of requests, inflated within bounds. gRPC's messages are inflated here and not by gRPC, which bounds
// a message's size only as it is sent: its 1.51 makes a gigabyte of a megabyte and then looks at nothing. The server is
// started so that messages arrive as they were sent (GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION is off).
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>

#include "absl/status/status.h"
#include "jit/support/memory_account.h"

namespace hearth::server {

enum class Compression { kNone, kDeflate, kGzip };

// What gRPC's frame of the message says.
Compression CompressionOf(const grpc::ByteBuffer& message);

// Replaces a compressed message by what it says: gzip, of one or several members, or deflate, which is zlib's format
// (RFC 1950). Takes time that grows with the size. kResourceExhausted for more than `most` bytes, where inflating
// stops; kInvalidArgument for bytes that are not so compressed. What is made is charged to `account` as it is made
// (MemoryLimitError); null: to none.
absl::Status Inflate(grpc::ByteBuffer& message, Compression compression, size_t most, MemoryAccount* account);

}  // namespace hearth::server
