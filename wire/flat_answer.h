// An answer of the native service as tensors named by their paths ("result.0.boxes"), in which answers are compared
// (tensor_difference.h). Numbers are tensors of one element, what has no numbers is a text.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "proto/hearth.pb.h"
#include "wire/wire_tensor.h"

namespace hearth {

// kInvalidArgument for an answer that is not sound, kUnimplemented for one with complex numbers outside of tensors.
absl::StatusOr<std::vector<WireTensor>> FlattenAnswer(const v1::CallResponse& answer);

}  // namespace hearth
