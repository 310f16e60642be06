// Takes a Protobuf message apart as gRPC received it, without copying what is large: the entries of one `repeated
// bytes` field are only noted where they lie, all else is left to Protobuf. The wire format is Protobuf's
// (protobuf.dev, "Encoding").
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "wire/raw_bytes.h"

namespace hearth::server {

class SplitMessage {
 public:
  // Entries that a message may have. Each takes some fifty times as much memory as an empty one has bytes.
  static constexpr size_t kMostRaw = 1 << 16;

  // kInvalidArgument if the bytes are no message, or for too many entries. `raw_field` is the number of the field.
  static absl::StatusOr<SplitMessage> Of(const grpc::ByteBuffer& buffer, uint32_t raw_field);

  // Reads the other fields. False if they are not such a message.
  bool ParseRest(google::protobuf::MessageLite& message);
  // What the other fields hold, however deep: an empty message or text of two bytes becomes a few hundred, or a few
  // dozen, when it is read.
  struct Parts {
    size_t messages = 0, texts = 0;
  };
  // kInvalidArgument if there are more than `most`, or if they are no message of the type. Reads next to nothing where
  // they have too few bytes for that.
  absl::Status CheckParts(const google::protobuf::Descriptor& type, const Parts& most);
  // The entries of the field; call once.
  std::vector<RawBytes> TakeRaw() { return std::move(raw_); }
  // Bytes of all but the entries.
  size_t rest_size() const;

 private:
  // In one piece.
  std::string_view Rest();

  std::vector<grpc::Slice> slices_;                // hold the memory of rest_
  absl::InlinedVector<std::string_view, 4> rest_;  // in order; pieces that touch are one
  std::string joined_;                             // the rest, if it is in several pieces and was asked for
  std::vector<RawBytes> raw_;
};

// Messages of so many bytes in all, of which so many are no contents of tensors, are read quickly.
constexpr size_t kShortMessage = 1 << 20;
constexpr size_t kShortFields = 64 << 10;

// Whether a message, whose field `raw_field` holds contents of tensors, takes about as little time to read as to be
// handed to another thread and back.
bool IsReadQuickly(const grpc::ByteBuffer& buffer, uint32_t raw_field);

}  // namespace hearth::server
