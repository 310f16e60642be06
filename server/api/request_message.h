// Reads a ModelInferRequest as gRPC received it, without copying tensors (split_message.h).
#pragma once

#include <google/protobuf/arena.h>
#include <grpcpp/support/byte_buffer.h>

#include <vector>

#include "absl/status/statusor.h"
#include "proto/inference/service.pb.h"
#include "wire/wire_tensor.h"

namespace hearth::server {

struct InferRequestMessage {
  const inference::ModelInferRequest* fields = nullptr;  // without raw_input_contents
  std::vector<RawBytes> raw_input_contents;
};

// The fields live in `arena`. kInvalidArgument for bytes that are not such a message.
absl::StatusOr<InferRequestMessage> ParseInferRequest(const grpc::ByteBuffer& buffer, google::protobuf::Arena& arena);

// The request's inputs as tensors, from raw or from typed contents. kInvalidArgument if there are both, if their
// numbers differ, or for contents that are not what an input says.
absl::StatusOr<std::vector<WireTensor>> ReadInputs(const InferRequestMessage& message);

}  // namespace hearth::server
