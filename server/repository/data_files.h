// The files of tensors that a model's configuration names, in folders of the model's folder as Triton has them:
// warmup/ for the input_data_file of a warm-up sample, initial_state/ for the data_file of a sequence's initial state.
// A file is the tensor's raw form (wire_tensor.h) and nothing else, without a batch dimension.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/inference/model_config.pb.h"
#include "server/repository/labels.h"
#include "wire/wire_tensor.h"

namespace hearth::server {

inline constexpr const char* kWarmupFolder = "warmup";
inline constexpr const char* kInitialStateFolder = "initial_state";
inline constexpr std::array kDataFolders = {kWarmupFolder, kInitialStateFolder};

// What one folder holds for one model. Thread-safe.
class DataFiles {
 public:
  // `model` is the model's folder, `folder` one of kDataFolders.
  DataFiles(std::filesystem::path model, const char* folder, PathResolver resolve)
      : model_(std::move(model)), folder_(folder), resolve_(std::move(resolve)) {}

  // Reads the file anew. `file` is a name in the folder (CheckFileName). kFailedPrecondition for a file that cannot be
  // read, kInvalidArgument for one of more than `most_bytes` and for bytes that are not such a tensor (expected and
  // got).
  absl::StatusOr<WireTensor> Read(const std::string& file, const Datatype& datatype, const std::vector<int64_t>& shape,
                                  int64_t most_bytes) const;

 private:
  const std::filesystem::path model_;
  const char* const folder_;
  const PathResolver resolve_;
};

}  // namespace hearth::server
