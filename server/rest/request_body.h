// The body of an inference request: decoded, its JSON read and the contents in binary form behind it cut into pieces.
#pragma once

#include <google/protobuf/arena.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/inference/model_config.pb.h"
#include "server/api/request_message.h"
#include "server/rest/content_coding.h"

namespace hearth::server {

// Headers that say how a body is to be read.
struct BodyHeaders {
  ContentCoding coding = ContentCoding::kIdentity;
  // Of the JSON, once decoded; what follows is contents of tensors. 0: the body is the contents of the only input.
  // None: all of it is JSON.
  std::optional<size_t> json_size;
};

struct InferBody {
  InferRequestMessage request;
  std::vector<std::optional<bool>> binary_outputs;  // of each requested output, if it says so
  bool binary_by_default = false;
};

// `config` is the model's: a body without JSON is for models whose configuration has one input, the shape of which
// follows from the number of bytes. A body that was encoded may have `most` bytes when it is decoded. The contents
// refer to the body's memory. kInvalidArgument for what is no request, kOutOfRange for what is too large.
absl::StatusOr<InferBody> ReadInferBody(const BodyHeaders& headers, grpc::Slice body, size_t most,
                                        const inference::ModelConfig& config, google::protobuf::Arena& arena);

}  // namespace hearth::server
