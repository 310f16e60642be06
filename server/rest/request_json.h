// Reads the JSON of an inference request: names, shapes and parameters to the protocol's message, contents of tensors
// to raw bytes, in one pass and without a tree of it. Fields may come in any order; those that the protocol does not
// know are read over.
#pragma once

#include <google/protobuf/arena.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/inference/service.pb.h"
#include "wire/raw_bytes.h"

namespace hearth::server {

// Inputs, outputs and parameters that a request may have together: each takes some fifty times the memory of its text.
inline constexpr int kMostRequestParts = 1 << 16;
// Dimensions of a tensor.
inline constexpr int kMostDimensions = 64;

struct InferRequestJson {
  // Where the contents of an input are: one of these, or else in shared memory, as its parameters say.
  struct Contents {
    std::optional<RawBytes> read;         // they were in the JSON
    std::optional<uint64_t> binary_size;  // behind the JSON, after those of the inputs before it
  };

  // Without contents, and without the parameters that are about the binary form (binary_data_size, binary_data,
  // binary_data_output), which are below.
  inference::ModelInferRequest* fields = nullptr;
  std::vector<Contents> inputs;
  std::vector<std::optional<bool>> binary_outputs;  // of each requested output, if it says so
  bool binary_by_default = false;                   // outputs that do not say
};

// The message lives in `arena`. kInvalidArgument, naming the place, for what is not such a request.
absl::StatusOr<InferRequestJson> ReadInferRequestJson(std::string_view json, google::protobuf::Arena& arena);

}  // namespace hearth::server
