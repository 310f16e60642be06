// Takes a Protobuf message apart as gRPC received it, without copying what is large: the entries of one `repeated
// bytes` field are only noted where they lie, all else is left to Protobuf. The wire format is Protobuf's
// (protobuf.dev, "Encoding").
#pragma once

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "wire/raw_bytes.h"

namespace hearth::server {

class SplitMessage {
 public:
  // Nothing if the bytes are no message. `raw_field` is the number of the field.
  static std::optional<SplitMessage> Of(const grpc::ByteBuffer& buffer, uint32_t raw_field);

  // Reads the other fields. False if they are not such a message.
  bool ParseRest(google::protobuf::MessageLite& message) const;
  // The entries of the field; call once.
  std::vector<RawBytes> TakeRaw() { return std::move(raw_); }
  // Of the whole message, and of all but the entries.
  size_t size() const { return size_; }
  size_t rest_size() const;

 private:
  std::vector<grpc::Slice> slices_;                // hold the memory of rest_
  absl::InlinedVector<std::string_view, 4> rest_;  // in order; pieces that touch are one
  std::vector<RawBytes> raw_;
  size_t size_ = 0;
};

}  // namespace hearth::server
