// Reads an input whose elements travel as numbers in Protobuf's own fields, not as raw bytes.
#pragma once

#include "absl/status/statusor.h"
#include "proto/inference/service.pb.h"
#include "wire/wire_tensor.h"

namespace hearth::server {

// kInvalidArgument for what DescribeTensor refuses, for another number of elements than the shape has, elements that
// the datatype cannot hold, and a datatype that has no such form; the message is to follow the input's name.
absl::StatusOr<WireTensor> ReadContents(const inference::ModelInferRequest::InferInputTensor& input);

}  // namespace hearth::server
