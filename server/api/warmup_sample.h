// The tensors of a request that a model's configuration describes (model_warmup).
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "proto/inference/model_config.pb.h"
#include "wire/wire_tensor.h"

namespace hearth::server {

// Zeros, or random numbers: in [0, 1), and 0 or 1 where they are integers, which may be indices; the same at each call,
// and none that the process's generators give. Strings are empty. With `batched`, the sample's batch_size is the first
// dimension. kInvalidArgument for a shape that overflows or a sample larger than 1 GiB.
absl::StatusOr<std::vector<WireTensor>> WarmupTensors(const inference::ModelWarmup& sample, bool batched);

}  // namespace hearth::server
