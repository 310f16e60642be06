// hearth models, load, rollback, unload and stats: a server's repository, by the Open Inference Protocol with Triton's
// extensions.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/json.h"
#include "cli/text.h"
#include "cli/value_summary.h"
#include "proto/inference/service.grpc.pb.h"

namespace hearth::cli {
namespace {

using Service = inference::GRPCInferenceService;
using Stub = inference::GRPCInferenceService::Stub;

struct RepositoryOptions {
  ServerOptions server;
  Target target;
  std::string config;
  std::map<std::string, std::string> shadow;  // parameters of the load
  std::vector<std::string> files;             // VERSION/NAME=PATH
  double shadow_seconds = 0;
  int64_t to = 0;  // a version; 0: what served before
  bool ready = false;
  bool json = false;
};

int Models(const RepositoryOptions& options) {
  constexpr const char* kCommand = "models";
  const auto connection = Connection::Open(options.server);
  if (!connection.ok()) return FailWithLine(kCommand, MessageOf(connection.status()));
  const auto stub = Service::NewStub(connection->channel());
  inference::RepositoryIndexRequest request;
  request.set_ready(options.ready);
  inference::RepositoryIndexResponse response;
  const absl::Status status = connection->Call(*stub, &Stub::RepositoryIndex, request, response);
  if (!status.ok()) return FailWithStatus(kCommand, status);
  if (options.json) {
    Json models = Json::array();
    for (const auto& model : response.models()) {
      models.push_back(
          {{"name", model.name()}, {"version", model.version()}, {"state", model.state()}, {"reason", model.reason()}});
    }
    PrintJson({{"models", std::move(models)}});
    return kSuccess;
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& model : response.models()) {
    rows.push_back({model.name(), model.version().empty() ? "-" : model.version(),
                    model.state().empty() ? "NOT LOADED" : model.state(), OneLine(model.reason())});
  }
  std::fputs(AlignColumns(rows).c_str(), stdout);
  return kSuccess;
}

absl::StatusOr<std::string> ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  // A folder can be opened.
  if (!file || std::filesystem::is_directory(path, error)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be read"));
  }
  return std::string{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The configuration of a load as the protocol carries it, in JSON: that of a file, which may be text as config.pbtxt.
absl::StatusOr<std::string> ReadConfig(const std::string& path) {
  auto text = ReadBytes(path);
  if (!text.ok() || StripText(*text).starts_with("{")) return text;
  inference::ModelConfig config;
  if (!google::protobuf::TextFormat::ParseFromString(*text, &config)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": expected a model's configuration, as text or JSON"));
  }
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(config, &json).ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be made into JSON"));
  }
  return json;
}

// Adds a file, as --file names it, to what a model is loaded from.
absl::Status AddFile(const std::string& option, inference::RepositoryModelLoadRequest& request) {
  const size_t end = option.find('=');
  if (end == 0 || end == option.npos || end + 1 == option.size()) {
    return absl::InvalidArgumentError(absl::StrCat("--file should be VERSION/NAME=PATH; it is '", option, "'"));
  }
  auto bytes = ReadBytes(option.substr(end + 1));
  if (!bytes.ok()) return bytes.status();
  auto& parameter = (*request.mutable_parameters())[absl::StrCat("file:", option.substr(0, end))];
  parameter.set_bytes_param(*std::move(bytes));
  return absl::OkStatus();
}

int CallLoad(const char* command, const ServerOptions& server, const inference::RepositoryModelLoadRequest& request) {
  const auto connection = Connection::Open(server);
  if (!connection.ok()) return FailWithLine(command, MessageOf(connection.status()));
  const auto stub = Service::NewStub(connection->channel());
  inference::RepositoryModelLoadResponse response;
  const absl::Status status = connection->Call(*stub, &Stub::RepositoryModelLoad, request, response);
  return status.ok() ? kSuccess : FailWithLine(command, MessageOf(status));
}

int Load(RepositoryOptions& options) {
  constexpr const char* kCommand = "load";
  if (const absl::Status status = ReadTarget(options.target, options.server); !status.ok()) {
    return FailWithLine(kCommand, MessageOf(status));
  }
  inference::RepositoryModelLoadRequest request;
  request.set_model_name(options.server.model);
  if (!options.config.empty()) {
    auto config = ReadConfig(options.config);
    if (!config.ok()) return FailWithLine(kCommand, MessageOf(config.status()));
    (*request.mutable_parameters())["config"].set_string_param(*std::move(config));
  }
  for (const std::string& file : options.files) {
    if (const absl::Status status = AddFile(file, request); !status.ok()) {
      return FailWithLine(kCommand, MessageOf(status));
    }
  }
  for (const auto& [name, value] : options.shadow) {
    (*request.mutable_parameters())[name].set_string_param(value);
  }
  // The load takes that time.
  options.server.timeout += options.shadow_seconds;
  return CallLoad(kCommand, options.server, request);
}

int Rollback(RepositoryOptions& options) {
  constexpr const char* kCommand = "rollback";
  if (const absl::Status status = ReadTarget(options.target, options.server); !status.ok()) {
    return FailWithLine(kCommand, MessageOf(status));
  }
  inference::RepositoryModelLoadRequest request;
  request.set_model_name(options.server.model);
  auto& parameter = (*request.mutable_parameters())["rollback"];
  if (options.to > 0) {
    parameter.set_int64_param(options.to);
  } else {
    parameter.set_bool_param(true);
  }
  return CallLoad(kCommand, options.server, request);
}

int Unload(RepositoryOptions& options) {
  constexpr const char* kCommand = "unload";
  if (const absl::Status status = ReadTarget(options.target, options.server); !status.ok()) {
    return FailWithLine(kCommand, MessageOf(status));
  }
  const auto connection = Connection::Open(options.server);
  if (!connection.ok()) return FailWithLine(kCommand, MessageOf(connection.status()));
  const auto stub = Service::NewStub(connection->channel());
  inference::RepositoryModelUnloadRequest request;
  request.set_model_name(options.server.model);
  inference::RepositoryModelUnloadResponse response;
  const absl::Status status = connection->Call(*stub, &Stub::RepositoryModelUnload, request, response);
  return status.ok() ? kSuccess : FailWithLine(kCommand, MessageOf(status));
}

// Of one event, in milliseconds; 0 where there was none.
double MeanMilliseconds(const inference::StatisticDuration& duration) {
  return duration.count() == 0 ? 0 : static_cast<double>(duration.ns()) / static_cast<double>(duration.count()) * 1e-6;
}

Json DurationToJson(const inference::StatisticDuration& duration) {
  return {{"count", duration.count()}, {"ns", duration.ns()}, {"mean_ms", MeanMilliseconds(duration)}};
}

Json StatisticsToJson(const inference::ModelStatistics& model) {
  const auto& parts = model.inference_stats();
  Json batches = Json::array();
  for (const auto& batch : model.batch_stats()) {
    batches.push_back({{"batch_size", batch.batch_size()},
                       {"compute_input", DurationToJson(batch.compute_input())},
                       {"compute_infer", DurationToJson(batch.compute_infer())},
                       {"compute_output", DurationToJson(batch.compute_output())}});
  }
  return {{"name", model.name()},
          {"version", model.version()},
          {"last_inference_ms", model.last_inference()},
          {"inference_count", model.inference_count()},
          {"execution_count", model.execution_count()},
          {"success", DurationToJson(parts.success())},
          {"fail", DurationToJson(parts.fail())},
          {"queue", DurationToJson(parts.queue())},
          {"compute_input", DurationToJson(parts.compute_input())},
          {"compute_infer", DurationToJson(parts.compute_infer())},
          {"compute_output", DurationToJson(parts.compute_output())},
          {"batches", std::move(batches)}};
}

int Stats(RepositoryOptions& options) {
  constexpr const char* kCommand = "stats";
  // Without a model, all of them: then a word alone is the address if it looks like one.
  if (options.target.words.size() == 1 && !ReadTarget(options.target, options.server).ok()) {
    options.server.address = options.target.words.front();
    options.server.model.clear();
  } else if (!options.target.words.empty()) {
    const absl::Status status = ReadTarget(options.target, options.server);
    if (!status.ok()) return FailWithLine(kCommand, MessageOf(status));
  }
  const auto connection = Connection::Open(options.server);
  if (!connection.ok()) return FailWithLine(kCommand, MessageOf(connection.status()));
  const auto stub = Service::NewStub(connection->channel());
  inference::ModelStatisticsRequest request;
  request.set_name(options.server.model);
  request.set_version(options.server.version);
  inference::ModelStatisticsResponse response;
  const absl::Status status = connection->Call(*stub, &Stub::ModelStatistics, request, response);
  if (!status.ok()) return FailWithLine(kCommand, MessageOf(status));
  if (options.json) {
    Json models = Json::array();
    for (const auto& model : response.model_stats()) models.push_back(StatisticsToJson(model));
    PrintJson({{"models", std::move(models)}});
    return kSuccess;
  }
  std::vector<std::vector<std::string>> rows = {
      {"MODEL", "VERSION", "OK", "FAILED", "INFERENCES", "MEAN ms", "QUEUE", "INPUT", "INFER", "OUTPUT"}};
  const auto mean = [](const inference::StatisticDuration& duration) {
    return absl::StrFormat("%.3f", MeanMilliseconds(duration));
  };
  for (const auto& model : response.model_stats()) {
    const auto& parts = model.inference_stats();
    rows.push_back({model.name(), model.version(), std::to_string(parts.success().count()),
                    std::to_string(parts.fail().count()), std::to_string(model.inference_count()),
                    mean(parts.success()), mean(parts.queue()), mean(parts.compute_input()),
                    mean(parts.compute_infer()), mean(parts.compute_output())});
  }
  std::fputs(AlignColumns(rows).c_str(), stdout);
  return kSuccess;
}

}  // namespace

Action AddModels(CLI::App& app) {
  auto options = std::make_shared<RepositoryOptions>();
  CLI::App* command = app.add_subcommand("models", "Lists a server's models, their versions and states");
  AddAddress(*command, options->server);
  command->add_flag("--ready", options->ready, "Only those that serve");
  command->add_flag("--json", options->json, "Print as JSON");
  AddConnectionOptions(*command, options->server);
  return [options] { return Models(*options); };
}

Action AddLoad(CLI::App& app) {
  auto options = std::make_shared<RepositoryOptions>();
  CLI::App* command = app.add_subcommand("load", "Has a server load a model, or load it again");
  AddTarget(*command, options->target);
  command->add_option("--config", options->config, "In place of its config.pbtxt: a file of the same form, or JSON")
      ->type_name("FILE");
  command
      ->add_option(
          "--file", options->files,
          "Load it from this file in place of the repository's (1/model.pt=model.pt); may be given more than once")
      ->type_name("VERSION/NAME=PATH");
  const auto add_shadow = [&](const char* name, const char* parameter, const char* help) {
    return command->add_option_function<std::string>(
        name, [options, parameter](const std::string& text) { options->shadow[parameter] = text; }, help);
  };
  add_shadow("--shadow-requests", "shadow_requests",
             "Compare it with the version that serves on so many live requests, and refuse it if it answers otherwise");
  add_shadow("--shadow-tolerance", "shadow_tolerance", "What elements of floating-point tensors may differ by (0.001)");
  add_shadow("--shadow-differences", "shadow_differences", "What to do then: refuse (as if not given) or report")
      ->check(CLI::IsMember({"refuse", "report"}));
  command
      ->add_option_function<double>(
          "--shadow-seconds",
          [options](double seconds) {
            options->shadow_seconds = seconds;
            options->shadow["shadow_seconds"] = absl::StrFormat("%g", seconds);
          },
          "Wait so long for these requests (30)")
      ->check(CLI::Range(0.0, 3600.0));
  AddConnectionOptions(*command, options->server);
  return [options] { return Load(*options); };
}

Action AddRollback(CLI::App& app) {
  auto options = std::make_shared<RepositoryOptions>();
  CLI::App* command =
      app.add_subcommand("rollback", "Has a server serve again what it served before a model's last load");
  AddTarget(*command, options->target);
  command->add_option("--to", options->to, "This version alone, in place of what served before")
      ->type_name("VERSION")
      ->check(CLI::PositiveNumber);
  AddConnectionOptions(*command, options->server);
  return [options] { return Rollback(*options); };
}

Action AddUnload(CLI::App& app) {
  auto options = std::make_shared<RepositoryOptions>();
  CLI::App* command = app.add_subcommand("unload", "Has a server stop serving a model");
  AddTarget(*command, options->target);
  AddConnectionOptions(*command, options->server);
  return [options] { return Unload(*options); };
}

Action AddStats(CLI::App& app) {
  auto options = std::make_shared<RepositoryOptions>();
  CLI::App* command = app.add_subcommand("stats", "Shows what a server's models have answered, and how fast");
  AddTarget(*command, options->target, "[ADDRESS] [MODEL]")->required(false)->expected(0, 2);
  command->add_option("--model-version", options->server.version, "This version alone");
  command->add_flag("--json", options->json, "Print as JSON");
  AddConnectionOptions(*command, options->server);
  return [options] { return Stats(*options); };
}

}  // namespace hearth::cli
