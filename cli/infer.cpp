// hearth infer: one request to a server of the Open Inference Protocol over gRPC.

#include <algorithm>
#include <chrono>
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
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/json.h"
#include "cli/npy.h"
#include "cli/text.h"
#include "cli/value_summary.h"
#include "cli/wire_tensor.h"
#include "proto/inference/service.grpc.pb.h"

namespace hearth::cli {
namespace {

constexpr const char* kCommand = "infer";
using Metadata = inference::ModelMetadataResponse;
using Inputs = std::vector<std::pair<std::string, WireTensor>>;

struct InferOptions {
  std::string address;
  std::string model;
  std::string version;
  std::vector<std::string> inputs;
  std::vector<std::string> shapes;
  std::vector<std::string> outputs;
  bool random = false;
  uint64_t seed = 0;
  std::string output_dir;
  double timeout = 60;
  bool json = false;
};

absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

// The connection, and the protocol's two calls that are needed.
class Client {
 public:
  explicit Client(const InferOptions& options) : options_(options) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetMaxSendMessageSize(-1);
    stub_ = inference::GRPCInferenceService::NewStub(
        grpc::CreateCustomChannel(options.address, grpc::InsecureChannelCredentials(), arguments));
  }

  absl::StatusOr<Metadata> AskMetadata() {
    inference::ModelMetadataRequest request;
    request.set_name(options_.model);
    request.set_version(options_.version);
    grpc::ClientContext context;
    Prepare(context);
    Metadata response;
    const grpc::Status status = stub_->ModelMetadata(&context, request, &response);
    if (!status.ok()) return FromGrpc(status);
    return response;
  }

  absl::StatusOr<inference::ModelInferResponse> Infer(const Inputs& inputs) {
    inference::ModelInferRequest request;
    request.set_model_name(options_.model);
    request.set_model_version(options_.version);
    for (const auto& [name, tensor] : inputs) {
      auto* input = request.add_inputs();
      input->set_name(name);
      input->set_datatype(tensor.datatype);
      input->mutable_shape()->Assign(tensor.shape.begin(), tensor.shape.end());
      request.add_raw_input_contents(tensor.bytes);
    }
    for (const std::string& name : options_.outputs) request.add_outputs()->set_name(name);
    grpc::ClientContext context;
    Prepare(context);
    inference::ModelInferResponse response;
    const grpc::Status status = stub_->ModelInfer(&context, request, &response);
    if (!status.ok()) return FromGrpc(status);
    return response;
  }

 private:
  void Prepare(grpc::ClientContext& context) const {
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::microseconds(static_cast<int64_t>(options_.timeout * 1e6)));
  }

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
absl::StatusOr<Inputs> RandomInputs(const InferOptions& options, const Metadata& metadata) {
  auto shapes = ParseShapes(options);
  if (!shapes.ok()) return shapes.status();
  Inputs inputs;
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
    auto tensor = RandomTensor(datatype, std::move(shape), options.seed + inputs.size());
    if (!tensor.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("input '", input.name(), "': ", tensor.status().message()));
    }
    inputs.emplace_back(input.name(), *std::move(tensor));
  }
  if (!shapes->empty()) {
    return absl::InvalidArgumentError(absl::StrCat("the model has no input '", shapes->begin()->first, "'"));
  }
  return inputs;
}

absl::StatusOr<Inputs> InputsFromFiles(const InferOptions& options, const Metadata& metadata) {
  std::map<std::string, std::string> datatypes;
  for (const auto& input : metadata.inputs()) datatypes[input.name()] = input.datatype();
  Inputs inputs;
  for (const std::string& text : options.inputs) {
    const auto parts = SplitAssignment(text, "--input", "NAME=FILE.npy");
    if (!parts.ok()) return parts.status();
    auto tensor = ReadNpy(parts->second);
    if (!tensor.ok()) return tensor.status();
    if (tensor->datatype == "FP32" && datatypes[parts->first] == "BF16") *tensor = Bfloat16FromFloat(*tensor);
    inputs.emplace_back(parts->first, *std::move(tensor));
  }
  return inputs;
}

absl::StatusOr<std::vector<std::pair<std::string, WireTensor>>> TakeOutputs(inference::ModelInferResponse& response) {
  if (response.raw_output_contents_size() != response.outputs_size()) {
    return absl::DataLossError(absl::StrCat("the server sent ", response.raw_output_contents_size(),
                                            " raw contents for ", response.outputs_size(), " outputs"));
  }
  std::vector<std::pair<std::string, WireTensor>> outputs;
  for (int i = 0; i < response.outputs_size(); ++i) {
    const auto& output = response.outputs(i);
    WireTensor tensor{output.datatype(),
                      {output.shape().begin(), output.shape().end()},
                      std::move(*response.mutable_raw_output_contents(i))};
    if (const absl::Status status = CheckWireTensor(tensor); !status.ok()) {
      return absl::DataLossError(absl::StrCat("the server's output '", output.name(), "': ", status.message()));
    }
    outputs.emplace_back(output.name(), std::move(tensor));
  }
  return outputs;
}

std::string ContentText(const WireTensor& tensor) {
  if (tensor.datatype != "BYTES") return TensorContentText(*ToTensor(tensor));
  constexpr size_t kMaxShown = 8;
  const std::vector<std::string> elements = *ToStrings(tensor);
  std::vector<std::string> shown;
  for (const std::string& element : elements) {
    if (shown.size() == kMaxShown) break;
    shown.push_back("\"" + EscapeLine(element) + "\"");
  }
  return "[" + absl::StrJoin(shown, ", ") + (elements.size() > kMaxShown ? ", ...]" : "]");
}

Json OutputToJson(const std::string& name, const WireTensor& tensor) {
  Json json = {{"name", name}, {"datatype", tensor.datatype}, {"shape", tensor.shape}};
  if (tensor.datatype == "BYTES") {
    json["values"] = *ToStrings(tensor);
    return json;
  }
  const Json facts = TensorToJson(*ToTensor(tensor));
  for (const char* key : {"min", "max", "mean", "not_finite", "values"}) {
    if (facts.contains(key)) json[key] = facts[key];
  }
  return json;
}

absl::Status WriteOutputs(const std::vector<std::pair<std::string, WireTensor>>& outputs, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return absl::UnknownError(absl::StrCat(folder, ": ", error.message()));
  for (const auto& [name, tensor] : outputs) {
    // The server chose the name: it may not lead out of the folder.
    std::string file = name;
    std::replace_if(
        file.begin(), file.end(), [](char c) { return c == '/' || c == '\0'; }, '_');
    file += ".npy";
    if (const absl::Status status = WriteNpy(tensor, std::filesystem::path(folder) / file); !status.ok()) return status;
  }
  return absl::OkStatus();
}

void Print(const InferOptions& options, const inference::ModelInferResponse& response,
           const std::vector<std::pair<std::string, WireTensor>>& outputs) {
  if (options.json) {
    Json json = {{"model", response.model_name()}, {"version", response.model_version()}, {"outputs", Json::array()}};
    for (const auto& [name, tensor] : outputs) json["outputs"].push_back(OutputToJson(name, tensor));
    PrintJson(json);
    return;
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, tensor] : outputs) {
    rows.push_back(
        {name, absl::StrCat(tensor.datatype, " [", absl::StrJoin(tensor.shape, ", "), "]"), ContentText(tensor)});
  }
  std::fputs(AlignColumns(rows).c_str(), stdout);
}

int Infer(const InferOptions& options) {
  if (options.random == !options.inputs.empty()) {
    return FailWithLine(kCommand, "give --input NAME=FILE.npy for each input, or --random");
  }
  Client client(options);
  const auto metadata = client.AskMetadata();
  if (!metadata.ok()) return FailWithLine(kCommand, absl::StrCat(options.address, ": ", metadata.status().message()));
  const auto inputs = options.random ? RandomInputs(options, *metadata) : InputsFromFiles(options, *metadata);
  if (!inputs.ok()) return FailWithLine(kCommand, MessageOf(inputs.status()));
  auto response = client.Infer(*inputs);
  if (!response.ok()) return FailWithStatus(kCommand, response.status());
  const auto outputs = TakeOutputs(*response);
  if (!outputs.ok()) return FailWithLine(kCommand, MessageOf(outputs.status()));
  if (!options.output_dir.empty()) {
    const absl::Status written = WriteOutputs(*outputs, options.output_dir);
    if (!written.ok()) return FailWithLine(kCommand, MessageOf(written));
  }
  Print(options, *response, *outputs);
  return kSuccess;
}

}  // namespace

Action AddInfer(CLI::App& app) {
  auto options = std::make_shared<InferOptions>();
  CLI::App* infer = app.add_subcommand(kCommand, "Asks a server for one inference over gRPC");
  infer->add_option("ADDRESS", options->address, "HOST:PORT")->required();
  infer->add_option("MODEL", options->model, "The model's name")->required();
  infer->add_option("--model-version", options->version, "Its version; the server's choice if not given");
  infer->add_option("--input", options->inputs, "NAME=FILE.npy, once for each input");
  infer->add_flag("--random", options->random, "Random numbers for every input, the same ones each time");
  infer->add_option("--seed", options->seed, "Another seed for --random");
  infer->add_option("--shape", options->shapes, "NAME=SIZES (1x3x224x224) of an input that --random makes");
  infer->add_option("--output", options->outputs, "Ask for this output alone; may be given again");
  infer->add_option("--output-dir", options->output_dir, "Write each output to NAME.npy in this folder as well");
  infer->add_option("--timeout", options->timeout, "Seconds to wait")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  infer->add_flag("--json", options->json, "Print the answer as JSON");
  return [options] { return Infer(*options); };
}

}  // namespace hearth::cli
