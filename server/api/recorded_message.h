// An inference as a recording has it, whatever protocol brought it: a ModelInferRequest that says all by itself, with
// raw contents and without shared memory.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <string>
#include <vector>

#include "proto/inference/service.pb.h"
#include "wire/wire_tensor.h"

namespace hearth::server {

// `fields` as it was read, `inputs` its inputs in order, whose memory must not change any more: the message refers to
// it. `version` as the client named it.
grpc::ByteBuffer EncodeRecordedRequest(const inference::ModelInferRequest& fields, const std::string& model,
                                       const std::string& version, const std::vector<WireTensor>& inputs);

// The tensors with the same contents, over memory of their own if `copies`.
std::vector<WireTensor> KeepTensors(const std::vector<WireTensor>& tensors, bool copies);

// The message with memory of its own.
grpc::ByteBuffer CopyOfMessage(const grpc::ByteBuffer& message);

}  // namespace hearth::server
