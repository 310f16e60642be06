// hearth infer: one request to a server over gRPC, by the Open Inference Protocol or, where a method is named, by the
// server's own (native_call.h).

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/json.h"
#include "cli/native_call.h"
#include "cli/npy.h"
#include "cli/random_tensor.h"
#include "cli/text.h"
#include "cli/value_summary.h"
#include "proto/inference/service.grpc.pb.h"
#include "wire/wire_tensor.h"

namespace hearth::cli {
namespace {

constexpr const char* kCommand = "infer";
using Metadata = inference::ModelMetadataResponse;
using Tensors = std::vector<WireTensor>;

struct InferOptions {
  ServerOptions server;
  std::vector<std::string> inputs;
  std::vector<std::string> shapes;
  std::vector<std::string> outputs;
  bool random = false;
  uint64_t seed = 0;
  std::string output_dir;
  bool json = false;
  bool list_methods = false;
  NativeCallOptions native;
};

// The connection, and the protocol's two calls that are needed.
class Client {
 public:
  explicit Client(const InferOptions& options)
      : options_(options), stub_(inference::GRPCInferenceService::NewStub(OpenChannel(options.server))) {}

  absl::StatusOr<Metadata> AskMetadata() {
    inference::ModelMetadataRequest request;
    request.set_name(options_.server.model);
    request.set_version(options_.server.version);
    grpc::ClientContext context;
    SetDeadline(context, options_.server);
    Metadata response;
    const grpc::Status status = stub_->ModelMetadata(&context, request, &response);
    if (!status.ok()) return FromGrpc(status);
    return response;
  }

  absl::StatusOr<inference::ModelInferResponse> Infer(const Tensors& inputs) {
    inference::ModelInferRequest request;
    request.set_model_name(options_.server.model);
    request.set_model_version(options_.server.version);
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
    for (const std::string& name : options_.outputs) request.add_outputs()->set_name(name);
    grpc::ClientContext context;
    SetDeadline(context, options_.server);
    inference::ModelInferResponse response;
    const grpc::Status status = stub_->ModelInfer(&context, request, &response);
    if (!status.ok()) return FromGrpc(status);
    return response;
  }

 private:
  const InferOptions& options_;
  std::unique_ptr<inference::GRPCInferenceService::Stub> stub_;
};

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

absl::StatusOr<std::map<std::string, std::vector<int64_t>>> ParseShapes(const InferOptions& options) {
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
absl::StatusOr<Tensors> RandomInputs(const InferOptions& options, const Metadata& metadata) {
  auto shapes = ParseShapes(options);
  if (!shapes.ok()) return shapes.status();
  Tensors inputs;
  for (const auto& input : metadata.inputs()) {
    std::vector<int64_t> shape(input.shape().begin(), input.shape().end());
    for (int64_t& size : shape) size = size < 0 ? 1 : size;
    if (const auto given = shapes->extract(input.name())) {
      shape = given.mapped();
    } else if (input.datatype().empty() && shape.empty()) {
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

absl::StatusOr<Tensors> InputsFromFiles(const InferOptions& options, const Metadata& metadata) {
  std::map<std::string, std::string> datatypes;
  for (const auto& input : metadata.inputs()) datatypes[input.name()] = input.datatype();
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

absl::StatusOr<Tensors> ReadOutputs(const inference::ModelInferResponse& response) {
  if (response.raw_output_contents_size() != response.outputs_size()) {
    return absl::DataLossError(absl::StrCat("the server sent ", response.raw_output_contents_size(),
                                            " raw contents for ", response.outputs_size(), " outputs"));
  }
  Tensors outputs;
  for (int i = 0; i < response.outputs_size(); ++i) {
    const auto& output = response.outputs(i);
    const c10::IntArrayRef shape(output.shape().data(), output.shape_size());
    auto tensor = ReadRaw(output.name(), output.datatype(), shape, RawBytes::Of(response.raw_output_contents(i)));
    if (!tensor.ok()) {
      return absl::DataLossError(absl::StrCat("the server's output '", output.name(), "' ", tensor.status().message()));
    }
    outputs.push_back(*std::move(tensor));
  }
  return outputs;
}

std::string ContentText(const WireTensor& tensor) {
  if (!tensor.datatype->is_bytes()) return TensorContentText(tensor.tensor);
  constexpr size_t kMaxShown = 8;
  std::vector<std::string> shown;
  for (const std::string& element : tensor.strings) {
    if (shown.size() == kMaxShown) break;
    shown.push_back("\"" + EscapeLine(element) + "\"");
  }
  return "[" + absl::StrJoin(shown, ", ") + (tensor.strings.size() > kMaxShown ? ", ...]" : "]");
}

Json OutputToJson(const WireTensor& tensor) {
  Json json = {{"name", tensor.name}, {"datatype", tensor.datatype->name}, {"shape", tensor.shape}};
  if (tensor.datatype->is_bytes()) {
    json["values"] = tensor.strings;
    return json;
  }
  const Json facts = TensorToJson(tensor.tensor);
  for (const char* key : {"min", "max", "mean", "not_finite", "values"}) {
    if (facts.contains(key)) json[key] = facts[key];
  }
  return json;
}

absl::Status WriteOutputs(const Tensors& outputs, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return absl::UnknownError(absl::StrCat(folder, ": ", error.message()));
  for (const WireTensor& tensor : outputs) {
    // The server chose the name: it may not lead out of the folder.
    std::string file = tensor.name;
    std::replace_if(
        file.begin(), file.end(), [](char c) { return c == '/' || c == '\0'; }, '_');
    file += ".npy";
    if (const absl::Status status = WriteNpy(tensor, std::filesystem::path(folder) / file); !status.ok()) return status;
  }
  return absl::OkStatus();
}

void Print(const InferOptions& options, const inference::ModelInferResponse& response, const Tensors& outputs) {
  if (options.json) {
    Json json = {{"model", response.model_name()}, {"version", response.model_version()}, {"outputs", Json::array()}};
    for (const WireTensor& tensor : outputs) json["outputs"].push_back(OutputToJson(tensor));
    PrintJson(json);
    return;
  }
  std::vector<std::vector<std::string>> rows;
  for (const WireTensor& tensor : outputs) {
    rows.push_back({tensor.name, absl::StrCat(tensor.datatype->name, " [", absl::StrJoin(tensor.shape, ", "), "]"),
                    ContentText(tensor)});
  }
  std::fputs(AlignColumns(rows).c_str(), stdout);
}

int InferTensors(const InferOptions& options) {
  if (options.random == !options.inputs.empty()) {
    return FailWithLine(kCommand, "give --input NAME=FILE.npy for each input, or --random");
  }
  Client client(options);
  const auto metadata = client.AskMetadata();
  if (!metadata.ok())
    return FailWithLine(kCommand, absl::StrCat(options.server.address, ": ", metadata.status().message()));
  const auto inputs = options.random ? RandomInputs(options, *metadata) : InputsFromFiles(options, *metadata);
  if (!inputs.ok()) return FailWithLine(kCommand, MessageOf(inputs.status()));
  const auto response = client.Infer(*inputs);
  if (!response.ok()) return FailWithStatus(kCommand, response.status());
  const auto outputs = ReadOutputs(*response);
  if (!outputs.ok()) return FailWithLine(kCommand, MessageOf(outputs.status()));
  if (!options.output_dir.empty()) {
    const absl::Status written = WriteOutputs(*outputs, options.output_dir);
    if (!written.ok()) return FailWithLine(kCommand, MessageOf(written));
  }
  Print(options, *response, *outputs);
  return kSuccess;
}

int Infer(const InferOptions& options) {
  if (options.list_methods) return ListMethods(options.server, options.json);
  if (options.native.method.empty()) {
    if (options.native.inputs.empty()) return InferTensors(options);
    return FailWithLine(kCommand, "--inputs IN.pt goes with --method");
  }
  if (options.random || !options.inputs.empty() || !options.output_dir.empty() || options.outputs.size() > 1) {
    return FailWithLine(kCommand, "with --method, give --inputs IN.pt and at most one --output OUT.pt");
  }
  if (options.native.inputs.empty()) return FailWithLine(kCommand, "give the method's arguments with --inputs IN.pt");
  NativeCallOptions native = options.native;
  if (!options.outputs.empty()) native.output = options.outputs.front();
  native.json = options.json;
  return CallMethod(options.server, native);
}

}  // namespace

Action AddInfer(CLI::App& app) {
  auto options = std::make_shared<InferOptions>();
  CLI::App* infer = app.add_subcommand(kCommand, "Asks a server for one inference over gRPC");
  infer->add_option("ADDRESS", options->server.address, "HOST:PORT")->required();
  infer->add_option("MODEL", options->server.model, "The model's name")->required();
  infer->add_option("--model-version", options->server.version, "Its version; the server's choice if not given");
  infer->add_flag("--methods", options->list_methods, "List the model's methods, ask nothing else");
  infer->add_option("--method", options->native.method,
                    "Call this method, with any values, by the server's own protocol");
  infer->add_option("--inputs", options->native.inputs,
                    "For --method: what torch.save wrote, a tuple of arguments, or a dict with 'args' and 'kwargs'");
  infer->add_option("--input", options->inputs, "NAME=FILE.npy, once for each input");
  infer->add_flag("--random", options->random, "Random numbers for every input, the same ones each time");
  infer->add_option("--seed", options->seed, "Another seed for --random");
  infer->add_option("--shape", options->shapes, "NAME=SIZES (1x3x224x224) of an input that --random makes");
  infer->add_option("--output", options->outputs,
                    "Ask for this output alone; may be given again. With --method: write the answer here, for "
                    "torch.load, in place of a summary");
  infer->add_option("--output-dir", options->output_dir, "Write each output to NAME.npy in this folder as well");
  infer->add_option("--timeout", options->server.timeout, "Seconds to wait")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  infer->add_flag("--json", options->json, "Print the answer as JSON");
  return [options] { return Infer(*options); };
}

}  // namespace hearth::cli
