// Messages of the methods that carry no tensors: bounded before they are read, inflated if they are compressed.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstddef>

#include "absl/status/status.h"
#include "jit/support/memory_account.h"
#include "server/api/split_message.h"

namespace hearth::server {

// What a message may be. The default is for names and numbers: to read one takes little time.
struct MessageBounds {
  size_t bytes = 64 << 10;  // inflated
  SplitMessage::Parts parts = {.messages = 512, .texts = 2048};
};

// kResourceExhausted for more bytes than the bounds have, kInvalidArgument for bytes that are not such a message or
// have too many parts. Takes the buffer. What it comes to hold is charged to `account`, which may be null.
absl::Status ReadMessage(grpc::ByteBuffer& buffer, const MessageBounds& bounds, MemoryAccount* account,
                         google::protobuf::Message& message);

// Swaps the message's bytes into `buffer`.
void WriteMessage(const google::protobuf::Message& message, grpc::ByteBuffer& buffer);

}  // namespace hearth::server
