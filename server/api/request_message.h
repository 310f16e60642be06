// Reads a ModelInferRequest out of the slices that gRPC received, without copying tensors: all fields but
// raw_input_contents are gathered and parsed by Protobuf, which they are small for; of raw_input_contents only the
// place is noted. The wire format is Protobuf's (protobuf.dev, "Encoding").
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <vector>

#include "absl/status/statusor.h"
#include "proto/inference/service.pb.h"
#include "server/api/wire_tensor.h"

namespace hearth::server {

struct InferRequestMessage {
  inference::ModelInferRequest fields;  // without raw_input_contents
  std::vector<RawBytes> raw_input_contents;
  size_t size = 0;  // of the whole message
};

// kInvalidArgument for bytes that are not such a message.
absl::StatusOr<InferRequestMessage> ParseInferRequest(const grpc::ByteBuffer& buffer);

// The request's inputs as tensors, from raw or from typed contents. kInvalidArgument if there are both, if their
// numbers differ, or for what ReadRaw and ReadContents refuse.
absl::StatusOr<std::vector<WireTensor>> ReadInputs(const InferRequestMessage& message);

}  // namespace hearth::server
