// Reads a ModelInferRequest as gRPC received it, without copying tensors (split_message.h).
#pragma once

#include <google/protobuf/arena.h>
#include <grpcpp/support/byte_buffer.h>

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/inference/service.pb.h"
#include "wire/wire_tensor.h"

namespace hearth::server {

// An inference's request, whatever protocol brought it.
struct InferRequestMessage {
  const inference::ModelInferRequest* fields = nullptr;  // without raw_input_contents
  // Of each input in turn its raw bytes; none for one whose contents are typed, or lie in shared memory.
  std::vector<std::optional<RawBytes>> raw_inputs;
  // Of each input in turn its bytes in shared memory; undefined for one that lies elsewhere, empty if all do.
  std::vector<at::Tensor> shared_inputs = {};
};

// A ModelInferRequest as gRPC carries it.
struct ParsedInferRequest {
  const inference::ModelInferRequest* fields = nullptr;  // without raw_input_contents
  std::vector<RawBytes> raw_input_contents;
};

// The fields live in `arena`. kInvalidArgument for bytes that are not such a message.
absl::StatusOr<ParsedInferRequest> ParseInferRequest(const grpc::ByteBuffer& buffer, google::protobuf::Arena& arena);

// With each of the raw contents at its input; those in shared memory have none. kInvalidArgument if there are typed
// contents, too, or if their numbers differ.
absl::StatusOr<InferRequestMessage> MatchContents(ParsedInferRequest request);

// The request's inputs as tensors, each from raw or typed contents or from shared memory: on the CPU, or where that is.
// kInvalidArgument for contents that are not what an input says.
absl::StatusOr<std::vector<WireTensor>> ReadInputs(const InferRequestMessage& message);

}  // namespace hearth::server
