#include "server/api/read_message.h"

#include <grpcpp/support/slice.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "server/api/inflate.h"

namespace hearth::server {
namespace {

// The number of no field: nothing of these messages is left out of what Protobuf reads.
constexpr uint32_t kNoField = UINT32_MAX;

absl::Status CheckSize(size_t bytes, const MessageBounds& bounds, const std::string& type) {
  if (bytes <= bounds.bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the message has ", bytes, " bytes; ", type, " may have ", bounds.bytes));
}

}  // namespace

absl::Status ReadMessage(grpc::ByteBuffer& buffer, const MessageBounds& bounds, MemoryAccount* account,
                         google::protobuf::Message& message) {
  const std::string& type = message.GetDescriptor()->full_name();
  absl::Status status = CheckSize(buffer.Length(), bounds, type);
  const Compression compression = CompressionOf(buffer);
  if (status.ok() && compression != Compression::kNone) status = Inflate(buffer, compression, bounds.bytes, account);
  if (!status.ok()) return status;
  auto split = SplitMessage::Of(buffer, kNoField);
  status = split.status();
  if (status.ok()) status = split->CheckParts(*message.GetDescriptor(), bounds.parts);
  if (status.ok() && !split->ParseRest(message)) status = absl::InvalidArgumentError("a field is not as it should be");
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat("the request is no ", type, ": ", status.message()));
}

void WriteMessage(const google::protobuf::Message& message, grpc::ByteBuffer& buffer) {
  grpc::Slice slice(message.ByteSizeLong());
  message.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
  grpc::ByteBuffer(&slice, 1).Swap(&buffer);
}

}  // namespace hearth::server
