// The tensors of a request that a model's configuration describes (model_warmup).
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "proto/inference/model_config.pb.h"
#include "server/repository/data_files.h"
#include "wire/wire_tensor.h"

namespace hearth::server {

// Zeros, or random numbers: in [0, 1), and 0 or 1 where they are integers, which may be indices; the same at each call,
// and none that the process's generators give. Strings are empty. Or what one of `files` holds. With `batched`, the
// sample's batch_size is the first dimension, and a file's tensor each of its rows, as with Triton. kInvalidArgument
// for a shape that overflows, a sample larger than 1 GiB, or a file that is not such a tensor; kFailedPrecondition for
// one that cannot be read.
absl::StatusOr<std::vector<WireTensor>> WarmupTensors(const inference::ModelWarmup& sample, bool batched,
                                                      const DataFiles& files);

}  // namespace hearth::server
