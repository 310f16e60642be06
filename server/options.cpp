#include "server/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "jit/support/processors.h"
#include "jit/support/usable_memory.h"
#include "jit/support/version.h"

namespace hearth::server {
namespace {

using nlohmann::json;

constexpr int kHighestPort = 65535;

absl::Status Wrong(const std::string& where, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": ", what));
}

// Checks that hold whichever way the settings came.
absl::Status CheckOptions(const ServerOptions& options) {
  const auto refuse = [](const std::string& what) { return absl::InvalidArgumentError(what); };
  if (options.model_repositories.empty()) return refuse("--model-repository is required");
  const std::array<std::pair<const char*, int>, 3> ports = {
      {{"gRPC", options.grpc_port}, {"HTTP", options.http_port}, {"metrics", options.metrics_port}}};
  for (const auto& [name, port] : ports) {
    if (port < 0 || port > kHighestPort) return refuse(absl::StrCat("the port ", port, " is not between 0 and 65535"));
  }
  for (size_t i = 0; i < ports.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (ports[i].second == 0 || ports[i].second != ports[j].second) continue;
      return refuse(
          absl::StrCat(ports[j].first, " and ", ports[i].first, " cannot both have the port ", ports[i].second));
    }
  }
  if (options.threads < 0) return refuse("threads cannot be below 0");
  if (options.operator_threads < 0) return refuse("operator_threads cannot be below 0");
  if (options.load_threads < 1) return refuse("load_threads cannot be below 1");
  if (options.max_request_bytes < 1 || options.max_request_bytes > INT32_MAX) {
    return refuse(absl::StrCat("max_request_bytes must be between 1 and ", INT32_MAX));
  }
  if (options.max_pending_requests < 1) return refuse("max_pending_requests cannot be below 1");
  if (options.max_in_flight_requests < 1) return refuse("max_in_flight_requests cannot be below 1");
  if (!(options.drain_seconds >= 0)) return refuse("drain_seconds cannot be below 0");
  if (!(options.send_seconds > 0)) return refuse("send_seconds must be above 0");
  if (!(options.load_seconds >= 0)) return refuse("load_seconds cannot be below 0");
  if (!(options.warmup_seconds >= 0)) return refuse("warmup_seconds cannot be below 0");
  if (!(options.compiler_share.value_or(0) >= 0)) return refuse("compiler_share cannot be below 0");
  if (!(options.shadow_share >= 0 && options.shadow_share <= 1)) return refuse("shadow_share must be between 0 and 1");
  if (options.compile_after < 1) return refuse("compile_after cannot be below 1; --compiler off compiles nothing");
  if (options.exact_after < 0) return refuse("exact_after cannot be below 0");
  if (options.max_plans < 1) return refuse("max_plans cannot be below 1; --compiler off makes none");
  if (options.plan_bytes < 1) return refuse("plan_bytes cannot be below 1; --compiler off makes no plans");
  if (options.job_memory < 0) return refuse("job_memory cannot be below 0");
  if (!(options.job_seconds >= 0)) return refuse("job_seconds cannot be below 0");
  if (options.weight_copies < 0) return refuse("weight_copies cannot be below 0");
  if (options.memory_limit.value_or(0) < 0) return refuse("memory_limit cannot be below 0");
  if (options.requests_memory_limit.value_or(0) < 0) return refuse("requests_memory_limit cannot be below 0");
  if (options.load_memory_limit.value_or(0) < 0) return refuse("load_memory_limit cannot be below 0");
  if (options.kept_memory.value_or(0) < 0) return refuse("kept_memory cannot be below 0");
  return absl::OkStatus();
}

// The flags; `config` receives --config.
void DefineFlags(CLI::App& app, ServerOptions& options, std::string& config) {
  app.add_option("--model-repository,--model-store", options.model_repositories,
                 "Folder of models, NAME/VERSION/model.pt; may be given more than once")
      ->type_name("DIR")
      ->take_all();
  app.add_option("--config", config, "File of the same settings in JSON; flags win over it")->type_name("FILE");
  app.add_option("--host", options.host, "Address to listen at")->capture_default_str();
  app.add_option("--grpc-port", options.grpc_port, "Port of gRPC; 0 takes any free one")->capture_default_str();
  app.add_option("--http-port", options.http_port, "Port of health and metrics; 0 takes any free one")
      ->capture_default_str();
  app.add_option("--metrics-port", options.metrics_port, "A port of metrics and health alone; 0 takes any free one")
      ->capture_default_str();
  app.add_option("--device", options.device, "Where models run: cpu, cuda or cuda:N")->capture_default_str();
  app.add_option("--threads", options.threads,
                 "Threads that run models; 0 is one a processor, or what a quota of processor time gives")
      ->capture_default_str();
  app.add_option("--operator-threads", options.operator_threads,
                 "Threads that each operator may use; 0 is all processors for the only run, fewer the more there are")
      ->capture_default_str();
  app.add_option("--operator-library", options.operator_libraries,
                 "Shared library of operators to load first; may be given more than once")
      ->type_name("FILE")
      ->take_all();
  app.add_flag("--model-operator-libraries", options.model_operator_libraries,
               "Load the operator libraries that models bring in their folders: native code of this process");
  app.add_option("--load-threads", options.load_threads, "Threads that load models")->capture_default_str();
  app.add_flag("--strict-readiness", options.strict_readiness, "Not ready while any model has failed to load");
  app.add_option("--max-request-bytes", options.max_request_bytes, "Largest request message")->capture_default_str();
  app.add_option("--max-pending-requests", options.max_pending_requests,
                 "Requests of one model that may wait; more are refused")
      ->capture_default_str();
  app.add_option("--max-in-flight-requests", options.max_in_flight_requests,
                 "Requests of all models that may wait or run; more are refused")
      ->capture_default_str();
  app.add_option("--drain-seconds", options.drain_seconds, "After SIGTERM, time for what is in flight")
      ->capture_default_str();
  app.add_option("--send-seconds", options.send_seconds, "Seconds in which a client must take up an answer")
      ->capture_default_str();
  app.add_option(
         "--memory-limit", options.memory_limit,
         "Memory that a request may come to hold: 500MB, 2GiB; 0 is no limit, half of this machine's if not given")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false));
  app.add_option("--requests-memory-limit", options.requests_memory_limit,
                 "The same for all requests together; three quarters of this machine's if not given")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false));
  app.add_option("--load-memory-limit", options.load_memory_limit, "The same for loading a model, beside its weights")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false));
  app.add_option("--kept-memory", options.kept_memory,
                 "Memory of large tensors that may lie idle for others; an eighth of this machine's if not given")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false));
  app.add_option("--load-seconds", options.load_seconds, "Seconds that loading a model may take; 0 is no limit")
      ->capture_default_str();
  app.add_option("--warmup-seconds", options.warmup_seconds,
                 "Time for a model's warm-up samples and for compiling what they use; 0 is no limit")
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--compiler", [&options](const std::string& value) { options.compiler = value == "on"; },
         "on: compile in the background what is called often; off: the interpreter alone")
      ->check(CLI::IsMember({"on", "off"}))
      ->default_str("on");
  app.add_option("--compile-after", options.compile_after,
                 "Calls with arguments of one spec, after which there is a plan for them")
      ->capture_default_str();
  app.add_option("--exact-after", options.exact_after,
                 "Calls with tensors of the same sizes, after which there is a plan for those alone; 0 is never")
      ->capture_default_str();
  app.add_option("--max-plans", options.max_plans,
                 "Argument specs that are known, with a plan or without, of all models")
      ->capture_default_str();
  app.add_option("--plan-bytes", options.plan_bytes, "Memory that the plans of all models may take: 500MB, 2GiB")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))
      ->capture_default_str();
  app.add_option("--job-memory", options.job_memory,
                 "Memory that making one plan may come to hold: 500MB, 2GiB; 0 is no limit")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))
      ->capture_default_str();
  app.add_option("--job-seconds", options.job_seconds,
                 "Seconds of a processor that making one plan may take; 0 is no limit")
      ->capture_default_str();
  app.add_option("--weight-copies", options.weight_copies,
                 "Memory that weights may take as plans have them packed, of all models: 500MB, 2GiB; 0 is none")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))
      ->capture_default_str();
  app.add_option(
      "--compiler-share", options.compiler_share,
      "How much of one processor compiling may take, unless somebody waits for it; 0 is no limit. 0.05 under a "
      "quota of processor time, 0 elsewhere, if not given");
  app.add_option("--shadow-share", options.shadow_share,
                 "How many of the answers of compiled plans are checked against the interpreter's: 0.01 is one in 100")
      ->capture_default_str();
  app.add_option("--cache-dir", options.cache_dir,
                 "Folder that keeps what models are called with, so that the next hearthd has it compiled before")
      ->type_name("DIR");
  app.add_option("--access-log", options.access_log, "File for a line of JSON a request; - is standard output")
      ->type_name("FILE");
  app.set_version_flag("--version", absl::StrCat("hearthd ", kVersion));
}

}  // namespace

absl::StatusOr<ServerOptions> ParseConfigFile(const std::string& text, const std::string& file, ServerOptions options) {
  json document;
  try {
    document = json::parse(text, nullptr, /*allow_exceptions=*/true, /*ignore_comments=*/true);
  } catch (const json::parse_error& error) {
    return Wrong(file, error.what());
  }
  if (!document.is_object()) return Wrong(file, "is not a JSON object");

  const std::map<std::string, std::function<void(const json&)>> settings = {
      {"model_repositories", [&](const json& value) { value.get_to(options.model_repositories); }},
      {"host", [&](const json& value) { value.get_to(options.host); }},
      {"grpc_port", [&](const json& value) { value.get_to(options.grpc_port); }},
      {"http_port", [&](const json& value) { value.get_to(options.http_port); }},
      {"metrics_port", [&](const json& value) { value.get_to(options.metrics_port); }},
      {"device", [&](const json& value) { value.get_to(options.device); }},
      {"operator_threads", [&](const json& value) { value.get_to(options.operator_threads); }},
      {"threads", [&](const json& value) { value.get_to(options.threads); }},
      {"operator_libraries", [&](const json& value) { value.get_to(options.operator_libraries); }},
      {"model_operator_libraries", [&](const json& value) { value.get_to(options.model_operator_libraries); }},
      {"load_threads", [&](const json& value) { value.get_to(options.load_threads); }},
      {"strict_readiness", [&](const json& value) { value.get_to(options.strict_readiness); }},
      {"max_request_bytes", [&](const json& value) { value.get_to(options.max_request_bytes); }},
      {"max_pending_requests", [&](const json& value) { value.get_to(options.max_pending_requests); }},
      {"max_in_flight_requests", [&](const json& value) { value.get_to(options.max_in_flight_requests); }},
      {"drain_seconds", [&](const json& value) { value.get_to(options.drain_seconds); }},
      {"send_seconds", [&](const json& value) { value.get_to(options.send_seconds); }},
      {"requests_memory_limit", [&](const json& value) { options.requests_memory_limit = value.get<int64_t>(); }},
      {"memory_limit", [&](const json& value) { options.memory_limit = value.get<int64_t>(); }},
      {"load_memory_limit", [&](const json& value) { options.load_memory_limit = value.get<int64_t>(); }},
      {"kept_memory", [&](const json& value) { options.kept_memory = value.get<int64_t>(); }},
      {"load_seconds", [&](const json& value) { value.get_to(options.load_seconds); }},
      {"warmup_seconds", [&](const json& value) { value.get_to(options.warmup_seconds); }},
      {"compiler", [&](const json& value) { value.get_to(options.compiler); }},
      {"compile_after", [&](const json& value) { value.get_to(options.compile_after); }},
      {"max_plans", [&](const json& value) { value.get_to(options.max_plans); }},
      {"plan_bytes", [&](const json& value) { value.get_to(options.plan_bytes); }},
      {"job_memory", [&](const json& value) { value.get_to(options.job_memory); }},
      {"job_seconds", [&](const json& value) { value.get_to(options.job_seconds); }},
      {"exact_after", [&](const json& value) { value.get_to(options.exact_after); }},
      {"compiler_share", [&](const json& value) { options.compiler_share = value.get<double>(); }},
      {"weight_copies", [&](const json& value) { value.get_to(options.weight_copies); }},
      {"shadow_share", [&](const json& value) { value.get_to(options.shadow_share); }},
      {"cache_dir", [&](const json& value) { value.get_to(options.cache_dir); }},
      {"access_log", [&](const json& value) { value.get_to(options.access_log); }},
  };
  for (const auto& [key, value] : document.items()) {
    auto setting = settings.find(key);
    if (setting == settings.end()) return Wrong(file, absl::StrCat("there is no setting '", key, "'"));
    try {
      setting->second(value);
    } catch (const json::exception& error) {
      return Wrong(file, absl::StrCat("the setting '", key, "' cannot be ", value.dump()));
    }
  }
  return options;
}

int64_t DefaultMemoryLimit() { return UsableMemory() / 2; }

int64_t DefaultRequestsMemoryLimit() { return DefaultMemoryLimit() / 2 * 3; }

int64_t DefaultKeptMemory() { return DefaultMemoryLimit() / 4; }

double DefaultCompilerShare() { return ProcessorQuota() ? 0.05 : 0; }

absl::StatusOr<CommandLine> ParseCommandLine(int argc, const char* const* argv) {
  // Twice: once to find --config, then over what that file says.
  CommandLine line;
  std::string config;
  for (int pass = 0; pass < 2; ++pass) {
    CLI::App app("hearthd serves TorchScript archives over the Open Inference Protocol v2.", "hearthd");
    DefineFlags(app, line.options, config);
    try {
      app.parse(argc, const_cast<char**>(argv));
    } catch (const CLI::CallForHelp&) {
      return CommandLine{{}, app.help()};
    } catch (const CLI::CallForVersion& version) {
      return CommandLine{{}, absl::StrCat(version.what(), "\n")};
    } catch (const CLI::ParseError& error) {
      return absl::InvalidArgumentError(error.what());
    }
    if (pass == 1 || config.empty()) break;
    std::ifstream stream(config, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    if (!stream) return absl::InvalidArgumentError(absl::StrCat("cannot read the configuration ", config));
    auto options = ParseConfigFile(text.str(), config, ServerOptions());
    if (!options.ok()) return options.status();
    line.options = *std::move(options);
  }
  if (absl::Status status = CheckOptions(line.options); !status.ok()) return status;
  return line;
}

}  // namespace hearth::server
