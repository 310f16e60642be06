// hearth config: the config.pbtxt that follows from what is known of a model: of a server's, from its schema and the
// requests that it answered; of an archive, from its schema and a run with example inputs.

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/json.h"
#include "cli/session.h"
#include "cli/text.h"
#include "proto/inference/service.grpc.pb.h"
#include "wire/tensors_from_value.h"

namespace hearth::cli {
namespace {

constexpr const char* kConfig = "config";
constexpr const char* kObserved = "hearth.observed";
constexpr const char* kAssumed = "hearth.assumed";

struct ConfigOptions {
  ServerOptions server;
  Target target;
  std::string archive;
  std::vector<std::string> inputs;
  SessionOptions session;
  bool json = false;
};

// The names in a parameter's {"inputs": [...], "outputs": [...]}, for people; the parameter goes.
std::string TakeNames(inference::ModelConfig& config, const char* parameter) {
  const auto found = config.mutable_parameters()->find(parameter);
  if (found == config.mutable_parameters()->end()) return "";
  const Json json = Json::parse(found->second.string_value(), nullptr, /*allow_exceptions=*/false);
  config.mutable_parameters()->erase(found);
  std::vector<std::string> names;
  for (const char* direction : {"inputs", "outputs"}) {
    if (!json.is_object() || !json.contains(direction) || !json[direction].is_array()) continue;
    for (const Json& name : json[direction]) {
      if (name.is_string()) names.push_back(EscapeLine(name.get<std::string>()));
    }
  }
  return absl::StrJoin(names, ", ");
}

int PrintConfig(inference::ModelConfig config, bool json) {
  const std::string observed = TakeNames(config, kObserved);
  const std::string assumed = TakeNames(config, kAssumed);
  std::string text;
  if (json) {
    google::protobuf::util::JsonPrintOptions options;
    options.add_whitespace = true;
    options.preserve_proto_field_names = true;
    if (!google::protobuf::util::MessageToJsonString(config, &text, options).ok()) {
      return FailWithLine(kConfig, "the configuration cannot be made into JSON");
    }
  } else {
    if (!observed.empty()) {
      absl::StrAppend(&text, "# As calls had them: ", observed,
                      ".\n# A size that never varied is fixed; write -1 where ", "another may come.\n");
    }
    if (!assumed.empty()) {
      absl::StrAppend(&text, "# Nothing is known of: ", assumed, ".\n# FP32 and [ -1 ] are assumed; correct them.\n");
    }
    std::string fields;
    google::protobuf::TextFormat::PrintToString(config, &fields);
    text += fields;
  }
  std::fputs(text.c_str(), stdout);
  return kSuccess;
}

absl::StatusOr<inference::ModelConfig> ConfigOfServer(const ServerOptions& server) {
  const auto connection = Connection::Open(server);
  if (!connection.ok()) return connection.status();
  const auto stub = inference::GRPCInferenceService::NewStub(connection->channel());
  inference::ModelConfigRequest request;
  request.set_name(server.model);
  request.set_version(server.version);
  inference::ModelConfigResponse response;
  const absl::Status status =
      connection->Call(*stub, &inference::GRPCInferenceService::Stub::ModelConfig, request, response);
  if (!status.ok()) return status;
  return std::move(*response.mutable_config());
}

// Puts a tensor of a run into the configuration's list: a new entry, or a shape that covers that of earlier runs.
template <typename Entries>
absl::Status Merge(const WireTensor& tensor, Entries& entries) {
  for (auto& entry : entries) {
    if (entry.name() != tensor.name) continue;
    if (entry.data_type() != tensor.datatype->config || entry.dims_size() != static_cast<int>(tensor.shape.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", tensor.name, "' has another datatype or number of dimensions in another example"));
    }
    for (int i = 0; i < entry.dims_size(); ++i) {
      if (entry.dims(i) != tensor.shape[i]) entry.set_dims(i, -1);
    }
    return absl::OkStatus();
  }
  auto& entry = *entries.Add();
  entry.set_name(tensor.name);
  entry.set_data_type(tensor.datatype->config);
  entry.mutable_dims()->Assign(tensor.shape.begin(), tensor.shape.end());
  return absl::OkStatus();
}

// The tensors of an argument or, with the empty name, of the answer; what is None has none.
absl::StatusOr<std::vector<WireTensor>> NamedTensors(const c10::IValue& value, const std::string& name) {
  auto leaves = TensorsFromValue(value);
  if (!leaves.ok()) return leaves;
  std::erase_if(*leaves, [](const WireTensor& leaf) { return leaf.datatype == nullptr; });
  for (WireTensor& leaf : *leaves) {
    if (name.empty()) {
      if (leaf.name.empty()) leaf.name = kOnlyOutput;
    } else {
      leaf.name = leaf.name.empty() ? name : absl::StrCat(name, ".", leaf.name);
    }
  }
  return leaves;
}

// Runs `forward` with the inputs and adds what they and the answer were.
absl::Status AddRun(const Session& session, Model& model, const CallInputs& inputs, inference::ModelConfig& config) {
  constexpr const char* kMethod = "forward";
  const c10::FunctionSchema* schema = model.FindMethod(kMethod);
  if (schema == nullptr) return absl::InvalidArgumentError("the archive's module has no method 'forward'");
  const auto add = [&](const c10::IValue& value, const std::string& name) {
    const auto tensors = NamedTensors(value, name);
    if (!tensors.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("argument '", name, "': ", tensors.status().message()));
    }
    for (const WireTensor& tensor : *tensors) {
      if (absl::Status status = Merge(tensor, *config.mutable_input()); !status.ok()) return status;
    }
    return absl::OkStatus();
  };
  if (inputs.args.size() + 1 > schema->arguments().size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'forward' takes ", schema->arguments().size() - 1, " arguments, got ", inputs.args.size()));
  }
  for (size_t i = 0; i < inputs.args.size(); ++i) {
    absl::Status status = add(inputs.args[i], schema->arguments()[i + 1].name());
    if (!status.ok()) return status;
  }
  for (const auto& [name, value] : inputs.kwargs) {
    if (absl::Status status = add(value, name); !status.ok()) return status;
  }
  const auto answer = session.Call(model, kMethod, inputs);
  if (!answer.ok()) return answer.status();
  const auto outputs = NamedTensors(*answer, "");
  if (!outputs.ok()) return outputs.status();
  for (const WireTensor& tensor : *outputs) {
    if (absl::Status status = Merge(tensor, *config.mutable_output()); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<inference::ModelConfig> ConfigOfArchive(const ConfigOptions& options) {
  auto session = Session::Open(options.session);
  if (!session.ok()) return session.status();
  const auto model = session->Load(options.archive, "");
  if (!model.ok()) return model.status();
  inference::ModelConfig config;
  config.set_platform("pytorch_libtorch");
  for (const std::string& path : options.inputs) {
    const auto inputs = ReadInputs(path);
    if (!inputs.ok()) return inputs.status();
    const absl::Status status = AddRun(*session, **model, *inputs, config);
    if (!status.ok()) return status;
  }
  const c10::FunctionSchema& schema = *(*model)->FindMethod("forward");
  for (inference::ModelInput& input : *config.mutable_input()) {
    for (const c10::Argument& argument : schema.arguments()) {
      if (argument.name() == input.name() && argument.default_value().has_value()) input.set_optional(true);
    }
  }
  return config;
}

int Config(ConfigOptions& options) {
  if (options.archive.empty() == options.target.words.empty()) {
    return FailWithLine(kConfig, "give a server's MODEL, or --archive ARCHIVE with --inputs IN.pt");
  }
  if (options.archive.empty() != options.inputs.empty()) {
    return FailWithLine(kConfig, "--archive and --inputs go together");
  }
  if (!options.archive.empty()) {
    auto config = ConfigOfArchive(options);
    if (!config.ok()) return FailWithStatus(kConfig, config.status());
    return PrintConfig(*std::move(config), options.json);
  }
  if (const absl::Status status = ReadTarget(options.target, options.server); !status.ok()) {
    return FailWithLine(kConfig, MessageOf(status));
  }
  auto config = ConfigOfServer(options.server);
  if (!config.ok()) return FailWithLine(kConfig, MessageOf(config.status()));
  return PrintConfig(*std::move(config), options.json);
}

}  // namespace

Action AddConfig(CLI::App& app) {
  auto options = std::make_shared<ConfigOptions>();
  CLI::App* config = app.add_subcommand(kConfig, "Prints the config.pbtxt that follows from what is known of a model");
  AddTarget(*config, options->target)->required(false)->expected(0, 2);
  config->add_option("--model-version", options->server.version, "Its version; the server's choice if not given");
  config->add_option("--archive", options->archive, "Of this archive, without a server")->type_name("ARCHIVE");
  config
      ->add_option("--inputs", options->inputs,
                   "For --archive: an example as `hearth run` takes it; may be given again")
      ->type_name("IN.pt");
  config->add_flag("--json", options->json, "Print as JSON, for `hearth load --config`");
  AddSessionOptions(*config, options->session);
  AddConnectionOptions(*config, options->server);
  return [options] { return Config(*options); };
}

}  // namespace hearth::cli
