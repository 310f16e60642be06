#include "cli/explanation.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hearth::cli {
namespace {

double Seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

double TotalOf(const CallReport::Run& run) {
  double total = 0;
  for (const CallReport::Operator& op : run.operators) total += Seconds(op.time);
  return total;
}

double Share(const CallReport::Operator& op, double total) { return total > 0 ? Seconds(op.time) / total : 0; }

template <typename... Values>
void Append(std::string& out, const char* format, Values... values) {
  char text[200];
  std::snprintf(text, sizeof text, format, values...);
  out += text;
}

void AppendRun(const CallReport::Run& run, std::string& out) {
  out += run.method + ": ";
  if (run.tier > 0) {
    out += (run.tier == 1 ? "the plan for (" : "the plan for exactly these sizes of (") + run.arguments + ")";
    Append(out, ", compiled in %.1f ms, %u guards, %zu bailouts\n", Seconds(run.compile_time) * 1e3, run.guards,
           run.bailouts.size());
    Append(out, "  memory planned for %zu of %zu results: %.1f kB, of which %.1f kB are in use at one time\n",
           run.planned_results, run.results, static_cast<double>(run.planned_bytes) * 1e-3,
           static_cast<double>(run.planned_peak) * 1e-3);
    // The call has an answer, so whatever raised, the baseline did not.
    for (const std::string& why : run.bailouts) out += "  left for the baseline: " + why + "\n";
  } else {
    out += "the interpreter's baseline\n";
  }
  const bool has_device =
      std::ranges::any_of(run.operators, [](const CallReport::Operator& op) { return op.device_time.count() > 0; });
  size_t width = 8;
  for (const CallReport::Operator& op : run.operators) width = std::max(width, op.name.size());
  Append(out, "  %-*s %10s %12s %7s%s\n", static_cast<int>(std::min<size_t>(width, 80)), "operator", "calls",
         "total ms", "share", has_device ? "       GPU ms" : "");
  const double total = TotalOf(run);
  for (const CallReport::Operator& op : run.operators) {
    out += "  " + op.name + std::string(width - op.name.size(), ' ');
    Append(out, " %10llu %12.3f %5.1f %%", static_cast<unsigned long long>(op.calls), Seconds(op.time) * 1e3,
           Share(op, total) * 100);
    if (has_device) Append(out, " %12.3f", Seconds(op.device_time) * 1e3);
    out += '\n';
  }
}

void AppendPasses(const CallReport::Run& run, std::string& out) {
  if (run.passes.empty()) return;
  Append(out, "  %-24s %6s %8s %9s\n", "pass", "runs", "changes", "ms");
  for (const CallReport::Pass& pass : run.passes) {
    Append(out, "  %-24s %6u %8u %9.3f\n", pass.name.c_str(), pass.runs, pass.changes, Seconds(pass.time) * 1e3);
  }
}

}  // namespace

std::string ExplanationText(const CallReport& report) {
  std::string out;
  for (const CallReport::Run& run : report.runs) {
    AppendRun(run, out);
    AppendPasses(run, out);
  }
  return out;
}

Json ExplanationToJson(const CallReport& report) {
  Json runs = Json::array();
  for (const CallReport::Run& run : report.runs) {
    Json operators = Json::array();
    const double total = TotalOf(run);
    for (const CallReport::Operator& op : run.operators) {
      operators.push_back(
          {{"name", op.name}, {"calls", op.calls}, {"seconds", Seconds(op.time)}, {"share", Share(op, total)}});
      if (op.device_time.count() > 0) operators.back()["device_seconds"] = Seconds(op.device_time);
    }
    Json described = {{"method", run.method}, {"tier", run.tier}, {"operators", std::move(operators)}};
    if (run.tier > 0) {
      described["arguments"] = run.arguments;
      described["compile_seconds"] = Seconds(run.compile_time);
      described["guards"] = run.guards;
      described["memory"] = {{"results", run.results},
                             {"planned", run.planned_results},
                             {"bytes", run.planned_bytes},
                             {"peak", run.planned_peak}};
      described["bailouts"] = run.bailouts.size();
      described["left_for_the_baseline"] = run.bailouts;
      described["passes"] = Json::array();
      for (const CallReport::Pass& pass : run.passes) {
        described["passes"].push_back(
            {{"name", pass.name}, {"runs", pass.runs}, {"changes", pass.changes}, {"seconds", Seconds(pass.time)}});
      }
    }
    runs.push_back(std::move(described));
  }
  return runs;
}

std::string GraphsText(const Model& model) {
  std::string out;
  for (const PlanInfo& plan : model.plans(/*with_graphs=*/true)) {
    if (plan.graph.empty()) continue;
    absl::StrAppend(&out, "\nplan of tier ", plan.tier, " of ", plan.method, " for ", plan.arguments, "\n", plan.graph);
    for (const PlanKernel& kernel : plan.kernels) {
      absl::StrAppend(&out, "\n", absl::StrJoin(kernel.results, "; "), " =\n", kernel.code);
    }
  }
  return out;
}

Json GraphsToJson(const Model& model) {
  Json plans = Json::array();
  for (const PlanInfo& plan : model.plans(/*with_graphs=*/true)) {
    if (plan.graph.empty()) continue;
    Json kernels = Json::array();
    for (const PlanKernel& kernel : plan.kernels)
      kernels.push_back({{"results", kernel.results}, {"code", kernel.code}});
    plans.push_back({{"method", plan.method},
                     {"arguments", plan.arguments},
                     {"tier", plan.tier},
                     {"graph", plan.graph},
                     {"kernels", std::move(kernels)}});
  }
  return plans;
}

}  // namespace hearth::cli
