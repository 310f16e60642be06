#include "server/status/overview_page.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "server/status/charts.h"
#include "server/status/html.h"
#include "server/status/page_frame.h"
#include "wire/figures.h"

namespace hearth::server {
namespace {

// The share of a GPU's memory from which it is marked; the alert HearthGpuMemory has the same.
constexpr double kNearlyFull = 0.95;
constexpr const char* kNotTold = "–";

std::string_view StateOf(const v1::ServerStatusResponse& status) {
  if (status.draining()) return "DRAINING";
  return status.ready() ? "READY" : "NOT READY";
}

void WriteServerFigures(Html& html, const v1::ServerStatusResponse& status) {
  const v1::Traffic& traffic = status.traffic();
  const Values rates = RatesOf(traffic), failures = FailureRatesOf(traffic);
  const Values p99 = LatenciesOf(traffic, &v1::Latency::p99);
  Values processors, resident;
  for (const v1::ProcessPoint& point : status.process()) {
    processors.emplace_back(point.processors());
    resident.emplace_back(static_cast<double>(point.resident_bytes()));
  }
  int64_t pending = 0, in_flight = 0;
  for (const v1::ModelStatus& model : status.models()) {
    pending += model.pending();
    in_flight += model.in_flight();
  }
  Values in_flights;
  for (const v1::TrafficPoint& point : traffic.points())
    in_flights.emplace_back(static_cast<double>(point.in_flight()));

  html.Raw("<section class=\"figures\">");
  WriteFigure(html, {"Requests a second", RateText(LatestRate(traffic)),
                     absl::StrCat(RateText(traffic.requests_per_second()), " on average"), &rates,
                     "Answered requests a second over the last minutes"});
  WriteFigure(html, {"Failures a second", RateText(failures.empty() ? 0 : failures.back().value_or(0)),
                     absl::StrCat(RateText(traffic.failures_per_second()), " on average"), &failures,
                     "Failed requests a second over the last minutes"});
  WriteFigure(html, {"Latency, 99th percentile", LatencyTextOf(traffic, &v1::Latency::p99),
                     absl::StrCat("median ", LatencyTextOf(traffic, &v1::Latency::p50)), &p99,
                     "99th percentile of latency over the last minutes"});
  WriteFigure(html, {"In flight", CountText(static_cast<uint64_t>(std::max<int64_t>(in_flight, 0))),
                     absl::StrCat(pending, " waiting"), &in_flights, "Requests in flight over the last minutes"});
  WriteFigure(html, {"Processors in use", processors.empty() ? "–" : RateText(processors.back().value_or(0)),
                     absl::StrCat("up ", AgeText(status.uptime_seconds())), &processors,
                     "Processors in use over the last minutes"});
  WriteFigure(html, {"Memory", MemoryText(status.memory().resident_bytes()), "resident", &resident,
                     "Resident memory over the last minutes"});
  html.Raw("</section>");
}

// A cell of a table that becomes a list of named values where there is no room for columns.
void WriteCell(Html& html, Html::Markup name, const std::function<void()>& content) {
  html.Raw("<td data-name=\"").Raw(name).Raw("\">");
  content();
  html.Raw("</td>");
}

void WriteTiersCell(Html& html, const v1::ModelStatus& model) {
  if (model.calls_by_tier_size() < 3) return;
  const auto calls = [&](int tier) { return static_cast<double>(model.calls_by_tier(tier)); };
  const double total = calls(0) + calls(1) + calls(2);
  const double compiled = total > 0 ? (calls(1) + calls(2)) / total : 0;
  const std::string text = total > 0 ? absl::StrCat(ShareText(compiled), " compiled") : "no calls";
  WriteSharesBar(html, {{"exact", calls(2)}, {"specialised", calls(1)}, {"baseline", calls(0)}}, text);
  html.Raw("<span class=\"note\">").Text(text).Raw("</span>");
}

void WriteModel(Html& html, const v1::ModelStatus& model) {
  html.Raw("<tr><th scope=\"row\">");
  if (model.version().empty()) {
    html.Name(model.name());
  } else {
    html.Raw("<a href=\"");
    WriteModelPath(html, model);
    html.Raw("\">").Name(model.name()).Raw("</a> <span class=\"version\">").Text(model.version()).Raw("</span>");
  }
  if (!model.reason().empty()) {
    html.Raw("<details id=\"reason-").PathPart(model.name()).Raw("-").PathPart(model.version());
    html.Raw("\"><summary>the latest load failed</summary><pre>").Text(model.reason()).Raw("</pre></details>");
  }
  html.Raw("</th>");
  const v1::Traffic& traffic = model.traffic();
  WriteCell(html, "State", [&] { WriteState(html, model.state()); });
  WriteCell(html, "Requests a second", [&] {
    html.Raw("<span class=\"rate\">").Text(RateText(LatestRate(traffic))).Raw("</span>");
    WriteSparkline(html, RatesOf(traffic), "Requests a second over the last minutes");
  });
  WriteCell(html, "Median", [&] { html.Text(LatencyTextOf(traffic, &v1::Latency::p50)); });
  WriteCell(html, "99th", [&] { html.Text(LatencyTextOf(traffic, &v1::Latency::p99)); });
  WriteCell(html, "In flight", [&] { html.Text(absl::StrCat(model.in_flight())); });
  WriteCell(html, "Waiting", [&] { html.Text(absl::StrCat(model.pending())); });
  WriteCell(html, "Failed", [&] { html.Text(CountText(model.failures())); });
  WriteCell(html, "Calls by tier", [&] { WriteTiersCell(html, model); });
  html.Raw("</tr>");
}

void WriteModels(Html& html, const v1::ServerStatusResponse& status) {
  html.Raw("<section><h2>Models</h2>");
  if (status.models().empty()) {
    html.Raw("<p class=\"empty\">No model is known.</p></section>");
    return;
  }
  html.Raw(
      "<table class=\"models\"><thead><tr><th scope=\"col\">Model</th><th scope=\"col\">State</th>"
      "<th scope=\"col\">Requests a second</th><th scope=\"col\">Median</th><th scope=\"col\">99th</th>"
      "<th scope=\"col\">In flight</th><th scope=\"col\">Waiting</th><th scope=\"col\">Failed</th><th "
      "scope=\"col\">Calls by tier</th>"
      "</tr></thead><tbody>");
  for (const v1::ModelStatus& model : status.models()) WriteModel(html, model);
  html.Raw("</tbody></table></section>");
}

void WriteGpuMemory(Html& html, const v1::GpuStatus& gpu) {
  if (!gpu.has_memory_total_bytes() || !gpu.has_memory_used_bytes()) {
    html.Text(kNotTold);
    return;
  }
  const std::string text =
      absl::StrCat(MemoryText(gpu.memory_used_bytes()), " of ", MemoryText(gpu.memory_total_bytes()));
  const auto used = static_cast<double>(gpu.memory_used_bytes());
  const auto total = static_cast<double>(gpu.memory_total_bytes());
  WriteSharesBar(html, {{"used", used}, {"free", std::max(total - used, 0.0)}}, text);
  if (used > kNearlyFull * total) {
    html.Raw("<span class=\"note bad\">");
  } else {
    html.Raw("<span class=\"note\">");
  }
  html.Text(text).Raw("</span>");
}

void WriteGpu(Html& html, const v1::GpuStatus& gpu) {
  html.Raw("<tr><th scope=\"row\">").Text(gpu.name()).Raw(" <span class=\"version\">").Text(gpu.uuid());
  html.Raw("</span></th>");
  WriteCell(html, "Memory", [&] { WriteGpuMemory(html, gpu); });
  WriteCell(html, "In use", [&] { html.Text(gpu.has_utilization() ? ShareText(gpu.utilization()) : kNotTold); });
  WriteCell(html, "Power", [&] { html.Text(gpu.has_power_watts() ? WattsText(gpu.power_watts()) : kNotTold); });
  WriteCell(html, "Power limit",
            [&] { html.Text(gpu.has_power_limit_watts() ? WattsText(gpu.power_limit_watts()) : kNotTold); });
  WriteCell(html, "Temperature",
            [&] { html.Text(gpu.has_temperature_celsius() ? CelsiusText(gpu.temperature_celsius()) : kNotTold); });
  html.Raw("</tr>");
}

void WriteGpus(Html& html, const v1::ServerStatusResponse& status) {
  if (status.gpus().empty() && status.gpus_lost() == 0) return;
  html.Raw("<section><h2>GPUs</h2>");
  if (status.gpus_lost() > 0) {
    html.Raw("<p class=\"bad\">GPUs that the driver does not reach: ").Text(CountText(status.gpus_lost())).Raw("</p>");
  }
  if (!status.gpus().empty()) {
    html.Raw(
        "<table class=\"gpus\"><thead><tr><th scope=\"col\">GPU</th><th scope=\"col\">Memory</th>"
        "<th scope=\"col\">In use</th><th scope=\"col\">Power</th><th scope=\"col\">Power limit</th>"
        "<th scope=\"col\">Temperature</th></tr></thead><tbody>");
    for (const v1::GpuStatus& gpu : status.gpus()) WriteGpu(html, gpu);
    html.Raw("</tbody></table>");
  }
  html.Raw("</section>");
}

void WriteCompiling(Html& html, const v1::ServerStatusResponse& status) {
  for (const v1::ModelStatus& model : status.models()) {
    for (const v1::Compilation& compilation : model.compiling()) {
      html.Raw("<li>").Name(model.name()).Raw(" <code>").Text(compilation.method()).Raw("</code>: ");
      html.Text(compilation.stage()).Raw(" ").Text(compilation.pass()).Raw(", ");
      html.Text(AgeText(compilation.seconds()));
      if (compilation.resting()) html.Raw(", waits for its share of the processor");
      html.Raw("</li>");
    }
  }
}

void WriteCompilerAndMemory(Html& html, const v1::ServerStatusResponse& status) {
  const v1::CompilerStatus& compiler = status.compiler();
  uint64_t guards = 0, bailouts = 0, weights = 0, plans = 0, copies = 0, plan_exceptions = 0;
  for (const v1::ModelStatus& model : status.models()) {
    guards += model.guard_failures();
    bailouts += model.bailouts();
    plan_exceptions += model.plan_exceptions();
    weights += model.weight_bytes();
    plans += model.plan_bytes();
    copies += model.weight_copy_bytes();
  }
  html.Raw("<div class=\"columns\"><section><h2>Compiler</h2><dl>");
  WriteFact(html, "Plans waiting", CountText(compiler.queued()));
  WriteFact(html, "Being compiled", CountText(compiler.running()));
  WriteFact(html, "Compiled", CountText(compiler.done()));
  WriteFact(html, "Failed", CountText(compiler.failed()), compiler.failed() > 0);
  WriteFact(html, "Dropped or cancelled", CountText(compiler.dropped() + compiler.cancelled()));
  WriteFact(html, "Processor time",
            compiler.processor_seconds() < 60 ? LatencyText(compiler.processor_seconds())
                                              : AgeText(compiler.processor_seconds()));
  html.Raw("</dl><ul class=\"compiling\">");
  WriteCompiling(html, status);
  html.Raw("</ul></section><section><h2>Kernels and guards</h2><dl>");
  WriteFact(html, "Kernels made", CountText(compiler.kernels_made()));
  WriteFact(html, "Kernels from the cache", CountText(compiler.kernels_read()));
  WriteFact(html, "Kernels waiting", CountText(compiler.kernels_waiting()));
  WriteFact(html, "Kernels that failed", CountText(compiler.kernels_failed()), compiler.kernels_failed() > 0);
  WriteFact(html, "Calls that left their plan", CountText(bailouts));
  WriteFact(html, "Guards that failed", CountText(guards));
  WriteFact(html, "Errors of plans alone", CountText(plan_exceptions), plan_exceptions > 0);
  if (compiler.shadow_runs() > 0) {
    WriteFact(html, "Answers that differed from the interpreter's",
              absl::StrCat(CountText(compiler.shadow_differences()), " of ", CountText(compiler.shadow_runs())),
              compiler.shadow_differences() > 0);
  }
  html.Raw("</dl></section><section><h2>Memory</h2><dl>");
  WriteFact(html, "Weights", MemoryText(weights));
  WriteFact(html, "Weights as plans have them", MemoryText(copies));
  WriteFact(html, "Plans", MemoryText(plans));
  if (status.memory().has_request_bytes()) {
    WriteFact(html, "Requests in flight", MemoryText(status.memory().request_bytes()));
    WriteFact(html, "Requests may hold", MemoryText(status.memory().request_limit_bytes()));
  }
  WriteFact(html, "Kept for the next tensors", MemoryText(status.memory().kept_bytes()));
  WriteFact(html, "Resident", MemoryText(status.memory().resident_bytes()));
  html.Raw("</dl></section></div>");
}

// The same error has the same name on the next page, so that what is open stays open.
std::string ErrorId(const v1::RecentError& error) {
  const std::string text =
      absl::StrCat(error.model(), "\n", error.version(), "\n", error.code(), "\n", error.message());
  return absl::StrCat("error-", absl::Hex(std::hash<std::string>{}(text)));
}

// What a traceback raised is in its last line.
std::string_view Headline(std::string_view message) {
  while (message.ends_with('\n')) message.remove_suffix(1);
  const size_t newline = message.rfind('\n');
  return newline == std::string_view::npos ? message : message.substr(newline + 1);
}

void WriteErrors(Html& html, Html::Markup title, Html::Markup none,
                 const google::protobuf::RepeatedPtrField<v1::RecentError>& errors) {
  html.Raw("<section><h2>").Raw(title).Raw("</h2>");
  if (errors.empty()) html.Raw("<p class=\"empty\">").Raw(none).Raw("</p>");
  for (const v1::RecentError& error : errors) {
    html.Raw("<details class=\"error\" id=\"").Text(ErrorId(error)).Raw("\"><summary><time>");
    html.Text(ClockText(error.time_ms())).Raw("</time> <span class=\"code\">").Text(error.code()).Raw("</span> ");
    html.Name(error.model());
    if (!error.version().empty()) html.Raw(" <span class=\"version\">").Text(error.version()).Raw("</span>");
    if (error.count() > 1) html.Raw(" <span class=\"count\">× ").Text(CountText(error.count())).Raw("</span>");
    html.Raw("<span class=\"headline\">").Text(Headline(error.message())).Raw("</span></summary><pre>");
    html.Text(error.message()).Raw("</pre></details>");
  }
  html.Raw("</section>");
}

}  // namespace

std::string OverviewPage(const v1::ServerStatusResponse& status) {
  const PageFrame frame{.title = status.name(), .state = std::string(StateOf(status)), .json_link = [](Html& html) {
                          html.Raw("/status.json");
                        }};
  return FramedPage(frame, [&](Html& html) {
    html.Raw("<p class=\"note\">version ").Text(status.version()).Raw(", models on ").Text(status.device()).Raw("</p>");
    WriteServerFigures(html, status);
    WriteModels(html, status);
    WriteGpus(html, status);
    WriteErrors(html, "Recent errors of models", "No model has raised.", status.model_errors());
    WriteErrors(html, "Recently refused requests", "No request was refused.", status.refused_requests());
    WriteCompilerAndMemory(html, status);
  });
}

}  // namespace hearth::server
