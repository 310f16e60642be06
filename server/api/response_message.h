// Writes a ModelInferResponse as slices over the tensors' own memory (slice_builder.h). The small fields are few and
// written by hand: making a message object of them took longer than all else that an answer costs.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/wire_tensor.h"

namespace hearth::server {

// What an answer says beside its outputs.
struct AnswerHeader {
  std::string model_name;
  std::string model_version;
  std::string id;  // the request's
};

// Where in a region of shared memory a tensor's contents lie.
struct RegionPlace {
  std::string region;
  uint64_t offset = 0;
  uint64_t byte_size = 0;
};

struct AnswerOutput {
  WireTensor tensor;
  // Where its contents were written to: the answer says so in the output's parameters, and does not carry them.
  std::optional<RegionPlace> written_to;
};

// The memory of `outputs` lives until gRPC has sent it and must not change before.
grpc::ByteBuffer EncodeInferResponse(const AnswerHeader& header, std::vector<AnswerOutput> outputs);

// The same as a ModelStreamInferResponse, with the parameter triton_final_response.
grpc::ByteBuffer EncodeStreamResponse(const AnswerHeader& header, std::vector<AnswerOutput> outputs);

// A ModelStreamInferResponse that says that the request `id` failed.
grpc::ByteBuffer EncodeStreamError(const std::string& message, const std::string& id);

}  // namespace hearth::server
