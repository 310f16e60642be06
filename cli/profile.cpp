// hearth profile: which operators a served model's calls run, and when, as a trace that Perfetto opens.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/text.h"
#include "cli/value_summary.h"
#include "proto/hearth.grpc.pb.h"
#include "wire/figures.h"

namespace hearth::cli {
namespace {

constexpr const char* kProfile = "profile";
// Those with the most time.
constexpr size_t kMostListed = 12;

struct ProfileOptions {
  ServerOptions server;
  Target target;
  double seconds = 10;
  uint32_t calls = 100;
  std::string output = "trace.json";
};

struct OperatorTime {
  uint64_t calls = 0;
  double seconds = 0;
  double device_seconds = 0;  // of a GPU
};

// The operators with the most time, with what they took of all calls together.
std::string OperatorTable(const std::string& trace) {
  std::map<std::string, OperatorTime> operators;
  double total = 0;
  bool has_device = false;
  const auto events = nlohmann::json::parse(trace, nullptr, /*allow_exceptions=*/false);
  if (!events.is_object()) return "";
  for (const auto& event : events.value("traceEvents", nlohmann::json::array())) {
    const std::string category = event.value("cat", "");
    if (category != "operator" && category != "GPU") continue;
    OperatorTime& time = operators[event.value("name", "")];
    if (category == "GPU") {
      has_device = true;
      time.device_seconds += event.value("dur", 0.0) * 1e-6;
      continue;
    }
    ++time.calls;
    time.seconds += event.value("dur", 0.0) * 1e-6;
    total += event.value("dur", 0.0) * 1e-6;
  }
  std::vector<std::pair<std::string, OperatorTime>> sorted(operators.begin(), operators.end());
  std::ranges::stable_sort(sorted, std::greater(), [](const auto& each) { return each.second.seconds; });
  if (sorted.size() > kMostListed) sorted.resize(kMostListed);
  std::vector<std::vector<std::string>> rows = {{"OPERATOR", "CALLS", "TIME", "SHARE"}};
  if (has_device) rows.front().emplace_back("GPU TIME");
  for (const auto& [name, time] : sorted) {
    rows.push_back({EscapeLine(name), CountText(time.calls), LatencyText(time.seconds),
                    ShareText(total > 0 ? time.seconds / total : 0)});
    if (has_device) rows.back().push_back(LatencyText(time.device_seconds));
  }
  return AlignColumns(rows);
}

int Profile(ProfileOptions& options) {
  if (const absl::Status status = ReadTarget(options.target, options.server); !status.ok()) {
    return FailWithLine(kProfile, MessageOf(status));
  }
  // The answer comes when the time is over.
  options.server.timeout += options.seconds;
  const auto connection = Connection::Open(options.server);
  if (!connection.ok()) return FailWithLine(kProfile, MessageOf(connection.status()));
  const auto stub = v1::ModelService::NewStub(connection->channel());
  v1::ProfileRequest request;
  request.set_model(options.server.model);
  request.set_version(options.server.version);
  request.set_seconds(options.seconds);
  request.set_calls(options.calls);
  v1::ProfileResponse response;
  const absl::Status status = connection->Call(*stub, &v1::ModelService::Stub::Profile, request, response);
  if (!status.ok()) return FailWithLine(kProfile, MessageOf(status));
  if (response.calls() == 0) {
    return FailWithLine(kProfile, absl::StrCat("the model was not called within ", options.seconds, " s"));
  }
  std::ofstream file(options.output, std::ios::binary);
  file << response.trace();
  file.close();
  if (!file) return FailWithLine(kProfile, options.output + ": cannot be written");
  std::printf("%s version %s: %u calls, %u operators in %s, which ui.perfetto.dev opens\n\n%s",
              EscapeLine(response.model()).c_str(), EscapeLine(response.version()).c_str(), response.calls(),
              response.operators(), options.output.c_str(), OperatorTable(response.trace()).c_str());
  return kSuccess;
}

}  // namespace

Action AddProfile(CLI::App& app) {
  auto options = std::make_shared<ProfileOptions>();
  CLI::App* command = app.add_subcommand("profile", "Profiles the next calls of a served model, operator by operator");
  AddTarget(*command, options->target);
  command->add_option("--model-version", options->server.version, "This version");
  command->add_option("--seconds", options->seconds, "Wait so long for calls at most")
      ->check(CLI::Range(0.001, 60.0))
      ->capture_default_str();
  command->add_option("--calls", options->calls, "So many calls at most")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--output", options->output, "The file of the trace")->type_name("FILE")->capture_default_str();
  AddConnectionOptions(*command, options->server);
  return [options] { return Profile(*options); };
}

}  // namespace hearth::cli
