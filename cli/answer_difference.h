// In what an answer differs from the one that was recorded to the same request: of the Open Inference Protocol, and of
// hearth's native service.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "wire/tensor_difference.h"

namespace hearth::cli {

inline constexpr std::string_view kInferMethod = "inference.GRPCInferenceService/ModelInfer";
inline constexpr std::string_view kCallMethod = "hearth.v1.ModelService/Call";

// `method` is one of these two. kInvalidArgument for an answer that is none of the method's; kUnimplemented for another
// method. Thread-safe.
absl::StatusOr<TensorDifference> CompareAnswers(std::string_view method, const std::string& recorded,
                                                const grpc::ByteBuffer& got, double tolerance);

}  // namespace hearth::cli
