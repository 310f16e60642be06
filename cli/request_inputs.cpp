#include "cli/request_inputs.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cli/json.h"
#include "cli/npy.h"
#include "cli/random_tensor.h"
#include "cli/text.h"

namespace hearth::cli {
namespace {

// The parameter of a configuration by which hearthd says what it only assumes.
constexpr const char* kAssumedParameter = "hearth.assumed";

// The parts of NAME=VALUE; kInvalidArgument says what was expected.
absl::StatusOr<std::pair<std::string, std::string>> SplitAssignment(const std::string& text, std::string_view option,
                                                                    std::string_view form) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(option), " expects ", std::string(form), ", got '", text, "'"));
  }
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

absl::StatusOr<std::vector<int64_t>> ParseShape(std::string_view text) {
  std::vector<int64_t> shape;
  std::string sizes(text);
  std::replace(sizes.begin(), sizes.end(), ',', 'x');
  for (const std::string_view size : SplitText(sizes, 'x')) {
    int64_t value = 0;
    if (!absl::SimpleAtoi(std::string(size), &value) || value < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--shape expects sizes like 1x3x224x224, got '", std::string(text), "'"));
    }
    shape.push_back(value);
  }
  return shape;
}

absl::StatusOr<std::map<std::string, std::vector<int64_t>>> ParseShapes(const InputOptions& options) {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const std::string& text : options.shapes) {
    const auto parts = SplitAssignment(text, "--shape", "NAME=SIZES");
    if (!parts.ok()) return parts.status();
    auto shape = ParseShape(parts->second);
    if (!shape.ok()) return shape.status();
    shapes[parts->first] = *std::move(shape);
  }
  return shapes;
}

// For every input of the model: seeded numbers in the shape asked for, else the model's with 1 for sizes that vary.
absl::StatusOr<Tensors> RandomInputs(const InputOptions& options, const ModelInputs& model) {
  auto shapes = ParseShapes(options);
  if (!shapes.ok()) return shapes.status();
  Tensors inputs;
  for (const auto& input : model.metadata.inputs()) {
    std::vector<int64_t> shape(input.shape().begin(), input.shape().end());
    for (int64_t& size : shape) size = size < 0 ? 1 : size;
    if (const auto given = shapes->extract(input.name())) {
      shape = given.mapped();
    } else if (model.assumed.contains(input.name()) || (input.datatype().empty() && shape.empty())) {
      return absl::InvalidArgumentError(absl::StrCat("the model does not say what shape input '", input.name(),
                                                     "' has: give --shape ", input.name(), "=SIZES"));
    }
    // A model without a configuration takes any tensor.
    const std::string datatype = input.datatype().empty() ? "FP32" : input.datatype();
    auto tensor = RandomTensor(input.name(), datatype, shape, options.seed + inputs.size());
    if (!tensor.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("input '", input.name(), "' ", tensor.status().message()));
    }
    inputs.push_back(*std::move(tensor));
  }
  if (!shapes->empty()) {
    return absl::InvalidArgumentError(absl::StrCat("the model has no input '", shapes->begin()->first, "'"));
  }
  return inputs;
}

absl::StatusOr<Tensors> InputsFromFiles(const InputOptions& options, const ModelInputs& model) {
  std::map<std::string, std::string> datatypes;
  for (const auto& input : model.metadata.inputs()) datatypes[input.name()] = input.datatype();
  Tensors inputs;
  for (const std::string& text : options.inputs) {
    const auto parts = SplitAssignment(text, "--input", "NAME=FILE.npy");
    if (!parts.ok()) return parts.status();
    auto tensor = ReadNpy(parts->second);
    if (!tensor.ok()) return tensor.status();
    tensor->name = parts->first;
    // Files have no BF16.
    if (tensor->datatype == FindDatatype("FP32") && datatypes[parts->first] == "BF16") {
      tensor->datatype = FindDatatype("BF16");
      tensor->tensor = tensor->tensor.to(c10::kBFloat16);
    }
    inputs.push_back(*std::move(tensor));
  }
  return inputs;
}

std::set<std::string> AssumedInputs(const inference::ModelConfig& config) {
  std::set<std::string> names;
  const auto parameter = config.parameters().find(kAssumedParameter);
  if (parameter == config.parameters().end()) return names;
  const Json json = Json::parse(parameter->second.string_value(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("inputs") || !json["inputs"].is_array()) return names;
  for (const Json& name : json["inputs"]) {
    if (name.is_string()) names.insert(name.get<std::string>());
  }
  return names;
}

}  // namespace

void AddInputOptions(CLI::App& app, InputOptions& options) {
  app.add_option("--input", options.inputs, "NAME=FILE.npy, once for each input");
  app.add_flag("--random", options.random, "Random numbers for every input, the same ones each time");
  app.add_option("--seed", options.seed, "Another seed for --random");
  app.add_option("--shape", options.shapes, "NAME=SIZES (1x3x224x224) of an input that --random makes");
}

absl::StatusOr<ModelInputs> AskInputs(const Connection& connection, inference::GRPCInferenceService::Stub& stub,
                                      const ServerOptions& server) {
  using Stub = inference::GRPCInferenceService::Stub;
  ModelInputs model;
  inference::ModelMetadataRequest request;
  request.set_name(server.model);
  request.set_version(server.version);
  absl::Status status = connection.Call(stub, &Stub::ModelMetadata, request, model.metadata);
  if (!status.ok()) return status;
  inference::ModelConfigRequest config_request;
  config_request.set_name(server.model);
  config_request.set_version(server.version);
  inference::ModelConfigResponse config;
  // Triton's extension: a server without it assumes nothing.
  status = connection.Call(stub, &Stub::ModelConfig, config_request, config);
  if (status.ok()) model.assumed = AssumedInputs(config.config());
  return model;
}

absl::StatusOr<Tensors> MakeInputs(const InputOptions& options, const ModelInputs& model) {
  return options.random ? RandomInputs(options, model) : InputsFromFiles(options, model);
}

inference::ModelInferRequest MakeRequest(const ServerOptions& server, const Tensors& inputs) {
  inference::ModelInferRequest request;
  request.set_model_name(server.model);
  request.set_model_version(server.version);
  for (const WireTensor& tensor : inputs) {
    auto* input = request.add_inputs();
    input->set_name(tensor.name);
    input->set_datatype(tensor.datatype->name);
    input->mutable_shape()->Assign(tensor.shape.begin(), tensor.shape.end());
    if (tensor.datatype->is_bytes()) {
      request.add_raw_input_contents(EncodeStrings(tensor.strings));
    } else {
      request.add_raw_input_contents(tensor.tensor.const_data_ptr(), tensor.tensor.nbytes());
    }
  }
  return request;
}

}  // namespace hearth::cli
