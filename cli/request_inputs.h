// The named tensors of a request, as the command line asks for them: from files of NumPy, or random ones in the shapes
// of the model's metadata. `hearth infer` and `hearth bench` share it.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "absl/status/statusor.h"
#include "cli/client.h"
#include "proto/inference/service.grpc.pb.h"
#include "wire/wire_tensor.h"

namespace hearth::cli {

using Tensors = std::vector<WireTensor>;

struct InputOptions {
  std::vector<std::string> inputs;  // NAME=FILE.npy
  std::vector<std::string> shapes;  // NAME=1x3x224x224
  bool random = false;
  uint64_t seed = 0;
};

// Adds --input, --random, --seed and --shape.
void AddInputOptions(CLI::App& app, InputOptions& options);

// What the server says of the model's inputs.
struct ModelInputs {
  inference::ModelMetadataResponse metadata;
  std::set<std::string> assumed;  // inputs of which the server knows neither datatype nor shape
};
absl::StatusOr<ModelInputs> AskInputs(const Connection& connection, inference::GRPCInferenceService::Stub& stub,
                                      const ServerOptions& server);

// kInvalidArgument for a file that cannot be read, a shape that is none, and a random input of which nobody says the
// shape.
absl::StatusOr<Tensors> MakeInputs(const InputOptions& options, const ModelInputs& model);

// Of the model and version of `server`, for all outputs.
inference::ModelInferRequest MakeRequest(const ServerOptions& server, const Tensors& inputs);

}  // namespace hearth::cli
