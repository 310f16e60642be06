// hearth run: an archive once, or many from a list.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/cases.h"
#include "cli/commands.h"
#include "cli/explanation.h"
#include "cli/failure.h"
#include "cli/json.h"
#include "cli/session.h"
#include "cli/text.h"
#include "cli/value_summary.h"

namespace hearth::cli {
namespace {

constexpr const char* kRun = "run";

struct RunOptions {
  std::string archive;
  std::string inputs;
  std::string output;
  std::string method;
  std::string cases;
  int repeat = 1;
  bool json = false;
  bool with_arguments = false;
  bool keep_loaded = false;
  bool explain = false;
  bool graphs = false;
  std::optional<uint64_t> seed;
  SessionOptions session;
};

std::string TimesText(std::vector<double> times) {
  char text[200];
  const double first = times.front();
  std::sort(times.begin(), times.end());
  std::snprintf(text, sizeof text, "%zu runs: first %.3f ms, fastest %.3f ms, median %.3f ms, slowest %.3f ms\n",
                times.size(), first, times.front(), times[times.size() / 2], times.back());
  return text;
}

// `report` is null if nobody asked.
void PrintRun(const RunOptions& options, const Model& model, const c10::IValue& answer, double load_time,
              const std::vector<double>& times, const CallReport* report) {
  if (options.json) {
    Json json = {{"archive", options.archive},
                 {"method", options.method.empty() ? "forward" : options.method},
                 {"type", answer.type()->annotation_str()},
                 {"value", ValueToJson(answer)},
                 {"load_milliseconds", load_time},
                 {"milliseconds", times}};
    if (report != nullptr) json["explanation"] = ExplanationToJson(*report);
    if (options.graphs) json["plans"] = GraphsToJson(model);
    PrintJson(json);
    return;
  }
  if (options.output.empty()) std::fputs(SummarizeValue(answer).c_str(), stdout);
  if (times.size() > 1) std::fputs(TimesText(times).c_str(), stdout);
  if (report != nullptr) std::fputs(ExplanationText(*report).c_str(), stdout);
  if (options.graphs) std::fputs(GraphsText(model).c_str(), stdout);
}

int RunArchive(const RunOptions& options) {
  auto session = Session::Open(options.session);
  if (!session.ok()) return FailWithLine(kRun, MessageOf(session.status()));
  const auto load_start = std::chrono::steady_clock::now();
  auto model = session->Load(options.archive, options.method);
  const double load_time = Milliseconds(std::chrono::steady_clock::now() - load_start);
  if (!model.ok()) return FailWithLine(kRun, MessageOf(model.status()));
  c10::IValue answer;
  CallInputs left;  // the arguments as the last call left them
  std::vector<double> times;
  std::shared_ptr<CallReport> report;
  for (int i = 0; i < options.repeat; ++i) {
    auto inputs = ReadInputs(options.inputs);
    if (!inputs.ok()) return FailWithLine(kRun, MessageOf(inputs.status()));
    left = *std::move(inputs);
    if (options.seed) SeedGenerators(*options.seed);
    if (options.explain && i + 1 == options.repeat) report = std::make_shared<CallReport>();
    const auto start = std::chrono::steady_clock::now();
    CallOptions settings;
    settings.report = report;
    auto result = session->Call(**model, options.method, left, std::move(settings));
    times.push_back(Milliseconds(std::chrono::steady_clock::now() - start));
    if (!result.ok()) return FailWithStatus(kRun, result.status());
    answer = *std::move(result);
  }
  if (!options.output.empty()) {
    const absl::Status written = options.with_arguments ? WriteAnswerAndInputs(&answer, left, options.output)
                                                        : WriteAnswer(answer, options.output);
    if (!written.ok()) return FailWithLine(kRun, MessageOf(written));
  }
  PrintRun(options, **model, answer, load_time, times, report.get());
  return kSuccess;
}

int RunAny(const RunOptions& options) {
  if (!options.cases.empty()) {
    return RunCases({options.cases, options.with_arguments, options.keep_loaded, options.seed, options.session});
  }
  if (options.archive.empty()) return FailWithLine(kRun, "give an ARCHIVE, or --cases FILE");
  if (options.inputs.empty()) return FailWithLine(kRun, "give the arguments with --inputs IN.pt");
  return RunArchive(options);
}

}  // namespace

Action AddRun(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* run = app.add_subcommand(kRun, "Calls a method of an archive");
  run->add_option("ARCHIVE", options->archive, "What torch.jit.save wrote, or a file of TorchScript (.py)");
  CLI::Option* inputs = run->add_option(
      "--inputs", options->inputs, "What torch.save wrote: a tuple of arguments, or a dict with 'args' and 'kwargs'");
  run->add_option("--output", options->output, "Write the answer here, for torch.load, in place of a summary");
  run->add_option("--method", options->method, "The method to call; the module itself, hooks included, if not given");
  run->add_option("--repeat", options->repeat, "Call it so many times, print times and the last answer")
      ->check(CLI::Range(1, 1'000'000'000));
  run->add_flag(
      "--with-arguments", options->with_arguments,
      "Write the arguments, as the call left them, beside the answer: a dict with 'args', 'kwargs', 'result'");
  run->add_option("--seed", options->seed, "Seed the random operators before each call, as torch.manual_seed does");
  run->add_flag("--json", options->json, "Print the answer and the times as JSON");
  CLI::Option* explain = run->add_flag("--explain", options->explain,
                                       "Say what the last call ran, and the calls and time of each operator in it");
  CLI::Option* graphs = run->add_flag("--graphs", options->graphs,
                                      "Print the graphs of the model's plans, and the fused kernels that they call");
  run->add_option(
         "--cases", options->cases,
         "A file with a run a line: archive, inputs, output and perhaps method and seed, with tabs between; '-' "
         "is the standard input. Prints `ok`, `raised MESSAGE` or `bad MESSAGE` a line")
      ->excludes(inputs)
      ->excludes(explain)
      ->excludes(graphs);
  run->add_flag("--keep-loaded", options->keep_loaded,
                "Lines of --cases in a row that name one archive call one loaded module, state and all");
  AddSessionOptions(*run, options->session);
  AddLimitOptions(*run, options->session);
  AddTierOptions(*run, options->session);
  return [options] { return RunAny(*options); };
}

}  // namespace hearth::cli
