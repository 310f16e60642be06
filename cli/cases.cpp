#include "cli/cases.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cli/failure.h"
#include "cli/json.h"
#include "cli/text.h"

namespace hearth::cli {
namespace {

std::string BadLine(std::string_view message) { return "bad " + EscapeLine(OneLine(message)); }

struct LoadedArchive {
  std::string path;
  std::string function;  // of a file of source
  std::shared_ptr<Model> model;
};

// `predecessor` as in LoadOptions.
absl::Status LoadCase(Session& session, const std::string& path, const std::string& method, bool keep,
                      LoadedArchive& loaded, std::shared_ptr<const Model> predecessor = nullptr) {
  const std::string function = path.ends_with(".py") ? method : "";
  if (keep && loaded.model != nullptr && loaded.path == path && loaded.function == function) return absl::OkStatus();
  loaded = {};
  auto model = session.Load(path, function, std::move(predecessor));
  if (!model.ok()) return model.status();
  loaded = {path, function, *std::move(model)};
  return absl::OkStatus();
}

// How many plans the model has, the most guards that one of them has, the runs that left them, of those the ones for
// which there is no good reason, and the plans whose runs are recorded.
void PrintPlans(const Model& model) {
  uint64_t plans = 0;
  uint64_t guards = 0;
  uint64_t recorded = 0;
  Json exceptions = Json::array();
  for (const PlanInfo& plan : model.plans(/*with_graphs=*/false)) {
    if (plan.state != PlanInfo::State::kCompiled) continue;
    ++plans;
    guards = std::max<uint64_t>(guards, plan.guards);
    recorded += static_cast<uint64_t>(!plan.recording.empty() && !plan.recording.starts_with("not recorded"));
    for (const PlanException& exception : plan.exceptions) {
      exceptions.push_back({{"method", plan.method},
                            {"arguments", plan.arguments},
                            {"tier", plan.tier},
                            {"operator", exception.op},
                            {"node", exception.node},
                            {"where", exception.where},
                            {"exception", exception.text},
                            {"runs", exception.runs}});
    }
  }
  const PlanCounts counts = model.plan_counts();
  std::printf("%s %s\n",
              absl::StrCat("plans ", plans, " guards ", guards, " bailouts ", counts.bailouts, " unexplained ",
                           counts.plan_exceptions, " invalidated ", counts.invalidated, " recorded ", recorded)
                  .c_str(),
              exceptions.dump(-1, ' ', true, Json::error_handler_t::replace).c_str());
}

std::string RunCase(Session& session, const CasesOptions& options, const std::string& line, LoadedArchive& loaded) {
  const std::vector<std::string_view> views = SplitText(line, '\t');
  std::vector<std::string> fields(views.begin(), views.end());
  if (fields.size() < 3 || fields.size() > 6 || fields[0].empty() || fields[1].empty()) {
    return BadLine("expected archive, inputs, output and perhaps method, seed and guard with tabs between, found '" +
                   line + "'");
  }
  fields.resize(6);
  const auto& [archive, inputs_path, output, method, seed_text, guard_text] =
      std::tie(fields[0], fields[1], fields[2], fields[3], fields[4], fields[5]);
  uint64_t seed = 0;
  if (!seed_text.empty() && !absl::SimpleAtoi(seed_text, &seed)) {
    return BadLine("a seed is a number from 0 to 2^64 - 1, found '" + seed_text + "'");
  }
  CallOptions settings;
  if (!guard_text.empty() && !absl::SimpleAtoi(guard_text, &settings.failing_guard.emplace())) {
    return BadLine("a guard is a number from 0 to 2^64 - 1, found '" + guard_text + "'");
  }
  const absl::Status found = LoadCase(session, archive, method, options.keep_loaded, loaded);
  if (!found.ok()) return BadLine(MessageOf(found));
  const auto inputs = ReadInputs(inputs_path);
  if (!inputs.ok()) return BadLine(MessageOf(inputs.status()));
  const auto call = [&](const CallInputs& given) {
    if (!seed_text.empty() || options.seed) SeedGenerators(seed_text.empty() ? *options.seed : seed);
    return session.Call(*loaded.model, method, given, settings);
  };
  if (options.session.compiler.profiled && !options.keep_loaded) {
    // Into which the first call may write.
    const auto own_inputs = ReadInputs(inputs_path);
    if (!own_inputs.ok()) return BadLine(MessageOf(own_inputs.status()));
    (void)call(*own_inputs);
    const absl::Status again = LoadCase(session, archive, method, false, loaded, loaded.model);
    if (!again.ok()) return BadLine(MessageOf(again));
  }
  const auto answer = call(*inputs);
  if (settings.failing_guard) PrintPlans(*loaded.model);
  if (!answer.ok() && !ModelRaised(answer.status())) return BadLine(MessageOf(answer.status()));
  if (!output.empty() && output != "-") {
    absl::Status written;
    if (options.with_arguments) {
      written = WriteAnswerAndInputs(answer.ok() ? &*answer : nullptr, *inputs, output);
    } else if (answer.ok()) {
      written = WriteAnswer(*answer, output);
    }
    if (!written.ok()) return BadLine(MessageOf(written));
  }
  return answer.ok() ? "ok" : "raised " + EscapeLine(RaisedMessage(answer.status()));
}

}  // namespace

int RunCases(const CasesOptions& options) {
  std::ifstream file;
  if (options.path != "-") {
    file.open(options.path);
    if (!file) return FailWithLine("run", options.path + ": cannot be read");
  }
  auto session = Session::Open(options.session);
  if (!session.ok()) return FailWithLine("run", MessageOf(session.status()));
  std::istream& lines = options.path == "-" ? std::cin : file;
  LoadedArchive loaded;
  for (std::string line; std::getline(lines, line);) {
    std::string answer;
    try {
      answer = RunCase(*session, options, line, loaded);
    } catch (const std::exception& error) {
      answer = BadLine(error.what());
    }
    std::puts(answer.c_str());
    std::fflush(stdout);
  }
  return kSuccess;
}

}  // namespace hearth::cli
