// An ensemble as a method: "forward(Tensor image, str[] words) -> Outputs", with the names that its configuration
// declares, so that what serves models' methods serves it, too.
//
// Tensors are Tensors. BYTES are lists of strings, which have no shape: at the ensemble's edge they have the one that
// the configuration declares, as far as that can be told from how many they are.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/jit_type.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/inference/model_config.pb.h"

namespace hearth::server {

// Of an ensemble's configuration. Its answer is a NamedTuple of the outputs, in the configuration's order.
c10::FunctionSchema EnsembleSchema(const inference::ModelConfig& config);
// The type of that answer.
c10::TupleTypePtr AnswerType(const c10::FunctionSchema& schema);

// The configuration by which a Signature of that schema reads requests and names answers: BYTES are made flat lists and
// get their shape back. kInvalidArgument for BYTES of a shape that cannot be told from how many they are.
absl::StatusOr<inference::ModelConfig> EdgeConfig(inference::ModelConfig config);

// The shape inside of the ensemble of so many strings that an input declares.
std::optional<std::vector<int64_t>> ShapeOfStrings(const inference::ModelInput& input, bool batched, int64_t count);

}  // namespace hearth::server
