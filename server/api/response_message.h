// Writes a ModelInferResponse as slices over the tensors' own memory: the small fields are encoded by Protobuf, then
// each tensor follows as one raw_output_contents field, without a copy. Concatenated encodings of a message are the
// encoding of the whole, so a client sees nothing unusual.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <string>
#include <vector>

#include "proto/inference/service.pb.h"
#include "server/api/wire_tensor.h"

namespace hearth::server {

// `header` is a response without outputs and contents; both are made from `outputs`, whose memory lives until gRPC has
// sent it and must not change before.
grpc::ByteBuffer EncodeInferResponse(inference::ModelInferResponse header, std::vector<WireTensor> outputs);

// The same as a ModelStreamInferResponse.
grpc::ByteBuffer EncodeStreamResponse(inference::ModelInferResponse header, std::vector<WireTensor> outputs);

// A ModelStreamInferResponse that says that the request `id` failed.
grpc::ByteBuffer EncodeStreamError(const std::string& message, const std::string& id);

}  // namespace hearth::server
