// hearth infer: one request to a server over gRPC, by the Open Inference Protocol or, where a method is named, by the
// server's own (native_call.h).

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/json.h"
#include "cli/native_call.h"
#include "cli/npy.h"
#include "cli/request_inputs.h"
#include "cli/text.h"
#include "cli/value_summary.h"
#include "proto/inference/service.grpc.pb.h"
#include "wire/wire_tensor.h"

namespace hearth::cli {
namespace {

constexpr const char* kInfer = "infer";
using Stub = inference::GRPCInferenceService::Stub;

struct InferOptions {
  ServerOptions server;
  Target target;
  InputOptions inputs;
  std::vector<std::string> outputs;
  std::string output_dir;
  bool json = false;
  bool list_methods = false;
  NativeCallOptions native;
};

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

void PrintOutputs(const InferOptions& options, const inference::ModelInferResponse& response, const Tensors& outputs) {
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
  if (options.inputs.random == !options.inputs.inputs.empty()) {
    return FailWithLine(kInfer, "give --input NAME=FILE.npy for each input, or --random");
  }
  const auto connection = Connection::Open(options.server);
  if (!connection.ok()) return FailWithLine(kInfer, MessageOf(connection.status()));
  const auto stub = inference::GRPCInferenceService::NewStub(connection->channel());
  const auto model = AskInputs(*connection, *stub, options.server);
  if (!model.ok()) return FailWithLine(kInfer, absl::StrCat(options.server.address, ": ", model.status().message()));
  const auto inputs = MakeInputs(options.inputs, *model);
  if (!inputs.ok()) return FailWithLine(kInfer, MessageOf(inputs.status()));
  inference::ModelInferRequest request = MakeRequest(options.server, *inputs);
  for (const std::string& name : options.outputs) request.add_outputs()->set_name(name);
  inference::ModelInferResponse response;
  const absl::Status status = connection->Call(*stub, &Stub::ModelInfer, request, response);
  if (!status.ok()) return FailWithStatus(kInfer, status);
  const auto outputs = ReadOutputs(response);
  if (!outputs.ok()) return FailWithLine(kInfer, MessageOf(outputs.status()));
  if (!options.output_dir.empty()) {
    const absl::Status written = WriteOutputs(*outputs, options.output_dir);
    if (!written.ok()) return FailWithLine(kInfer, MessageOf(written));
  }
  PrintOutputs(options, response, *outputs);
  return kSuccess;
}

int Infer(InferOptions& options) {
  if (const absl::Status status = ReadTarget(options.target, options.server); !status.ok()) {
    return FailWithLine(kInfer, MessageOf(status));
  }
  if (options.list_methods) return ListMethods(options.server, options.json);
  if (options.native.method.empty()) {
    if (options.native.inputs.empty()) return InferTensors(options);
    return FailWithLine(kInfer, "--inputs IN.pt goes with --method");
  }
  if (options.inputs.random || !options.inputs.inputs.empty() || !options.output_dir.empty() ||
      options.outputs.size() > 1) {
    return FailWithLine(kInfer, "with --method, give --inputs IN.pt and at most one --output OUT.pt");
  }
  if (options.native.inputs.empty()) return FailWithLine(kInfer, "give the method's arguments with --inputs IN.pt");
  NativeCallOptions native = options.native;
  if (!options.outputs.empty()) native.output = options.outputs.front();
  native.json = options.json;
  return CallMethod(options.server, native);
}

}  // namespace

Action AddInfer(CLI::App& app) {
  auto options = std::make_shared<InferOptions>();
  CLI::App* infer = app.add_subcommand(kInfer, "Asks a server for one inference over gRPC");
  AddTarget(*infer, options->target);
  infer->add_option("--model-version", options->server.version, "Its version; the server's choice if not given");
  infer->add_flag("--methods", options->list_methods, "List the model's methods, ask nothing else");
  infer->add_option("--method", options->native.method,
                    "Call this method, with any values, by the server's own protocol");
  infer->add_option("--inputs", options->native.inputs,
                    "For --method: what torch.save wrote, a tuple of arguments, or a dict with 'args' and 'kwargs'");
  AddInputOptions(*infer, options->inputs);
  infer->add_option("--output", options->outputs,
                    "Ask for this output alone; may be given again. With --method: write the answer here, for "
                    "torch.load, in place of a summary");
  infer->add_option("--output-dir", options->output_dir, "Write each output to NAME.npy in this folder as well");
  AddConnectionOptions(*infer, options->server);
  infer->add_flag("--json", options->json, "Print the answer as JSON");
  return [options] { return Infer(*options); };
}

}  // namespace hearth::cli
