#include "server/status/model_page.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/status/charts.h"
#include "server/status/html.h"
#include "server/status/page_frame.h"
#include "wire/figures.h"

namespace hearth::server {
namespace {

void WriteFigures(Html& html, const v1::ModelStatus& model) {
  const v1::Traffic& traffic = model.traffic();
  const Values rates = RatesOf(traffic), failures = FailureRatesOf(traffic);
  Values pending;
  for (const v1::TrafficPoint& point : traffic.points()) pending.emplace_back(static_cast<double>(point.pending()));
  html.Raw("<section class=\"figures\">");
  WriteFigure(html,
              {"Requests a second", RateText(LatestRate(traffic)), absl::StrCat(CountText(model.requests()), " in all"),
               &rates, "Answered requests a second over the last minutes"});
  WriteFigure(html, {"Failures a second", RateText(failures.empty() ? 0 : failures.back().value_or(0)),
                     absl::StrCat(CountText(model.failures()), " in all"), &failures,
                     "Failed requests a second over the last minutes"});
  WriteFigure(html, {"Waiting", absl::StrCat(model.pending()), absl::StrCat(model.in_flight(), " in flight"), &pending,
                     "Waiting requests over the last minutes"});
  WriteFigure(html, {"Weights", MemoryText(model.weight_bytes()),
                     absl::StrCat("loaded in ", LatencyText(model.load_seconds()))});
  html.Raw("</section>");
}

void WriteLatency(Html& html, const v1::Traffic& traffic) {
  html.Raw("<section><h2>Latency</h2>");
  if (!traffic.has_latency()) {
    html.Raw("<p class=\"empty\">No request was answered in the last minutes.</p></section>");
    return;
  }
  const Values p99 = LatenciesOf(traffic, &v1::Latency::p99);
  const double top = LargestOf(p99);
  html.Raw("<div class=\"chart\"><div class=\"scale\"><span>").Text(LatencyText(top)).Raw("</span><span>");
  html.Text(LatencyText(top / 2)).Raw("</span><span>0</span></div>");
  WriteLineChart(html,
                 {{"p99", p99},
                  {"p90", LatenciesOf(traffic, &v1::Latency::p90)},
                  {"p50", LatenciesOf(traffic, &v1::Latency::p50)}},
                 top, "Median, 90th and 99th percentile of latency over the last minutes");
  html.Raw("<div class=\"axis\"><span>5 min ago</span><span>now</span></div></div><dl class=\"legend\">");
  const auto entry = [&](Html::Markup name, double seconds) {
    html.Raw("<div><dt>").Raw(name).Raw("</dt><dd>").Text(LatencyText(seconds)).Raw("</dd></div>");
  };
  entry("<i class=\"p50\"></i>median", traffic.latency().p50());
  entry("<i class=\"p90\"></i>90th percentile", traffic.latency().p90());
  entry("<i class=\"p99\"></i>99th percentile", traffic.latency().p99());
  html.Raw("</dl></section>");
}

// The buckets between the first and the last, those without requests too.
std::vector<double> CountsOf(const v1::Traffic& traffic) {
  std::vector<double> counts;
  double reached = 0;
  for (const v1::LatencyBucket& bucket : traffic.distribution()) {
    // Four buckets double the time.
    for (; reached > 0 && reached * 1.1 < bucket.from_seconds(); reached *= 1.19) counts.push_back(0);
    counts.push_back(static_cast<double>(bucket.requests()));
    reached = bucket.to_seconds();
  }
  return counts;
}

void WriteTimes(Html& html, const v1::Traffic& traffic) {
  if (!traffic.has_latency()) return;
  html.Raw("<div class=\"columns\"><section><h2>Distribution</h2><div class=\"chart\">");
  WriteBars(html, CountsOf(traffic), "How many requests took how long");
  html.Raw("<div class=\"axis\"><span>").Text(LatencyText(traffic.distribution(0).from_seconds())).Raw("</span><span>");
  html.Text(LatencyText(traffic.distribution(traffic.distribution_size() - 1).to_seconds()));
  html.Raw("</span></div></div></section><section><h2>Where the time goes</h2>");
  WriteSharesBar(html,
                 {{"input", traffic.mean_input_seconds()},
                  {"queue", traffic.mean_queue_seconds()},
                  {"infer", traffic.mean_infer_seconds()},
                  {"output", traffic.mean_output_seconds()}},
                 "The parts of a request's time");
  html.Raw("<dl class=\"legend\">");
  WriteFact(html, "<i class=\"input\"></i>reading the request", LatencyText(traffic.mean_input_seconds()));
  WriteFact(html, "<i class=\"queue\"></i>waiting for a thread", LatencyText(traffic.mean_queue_seconds()));
  WriteFact(html, "<i class=\"infer\"></i>the model", LatencyText(traffic.mean_infer_seconds()));
  WriteFact(html, "<i class=\"output\"></i>writing the answer", LatencyText(traffic.mean_output_seconds()));
  html.Raw("</dl></section></div>");
}

void WriteTiers(Html& html, const v1::ModelStatus& model) {
  if (model.calls_by_tier_size() < 3) return;
  const auto calls = [&](int tier) { return model.calls_by_tier(tier); };
  html.Raw("<div class=\"columns\"><section><h2>Calls by tier</h2>");
  WriteSharesBar(html,
                 {{"exact", static_cast<double>(calls(2))},
                  {"specialised", static_cast<double>(calls(1))},
                  {"baseline", static_cast<double>(calls(0))}},
                 "Calls by the tier that began them");
  html.Raw("<dl class=\"legend\">");
  WriteFact(html, "<i class=\"exact\"></i>2: plans for exact sizes", CountText(calls(2)));
  WriteFact(html, "<i class=\"specialised\"></i>1: plans for types and ranks", CountText(calls(1)));
  WriteFact(html, "<i class=\"baseline\"></i>0: the interpreter", CountText(calls(0)));
  html.Raw("</dl></section><section><h2>Plans</h2><dl>");
  WriteFact(html, "Argument specs", CountText(model.argument_specs()));
  WriteFact(html, "Memory of plans", MemoryText(model.plan_bytes()));
  WriteFact(html, "Weights as plans have them", MemoryText(model.weight_copy_bytes()));
  if (model.recorded_bytes() > 0) WriteFact(html, "Recorded runs on GPUs", MemoryText(model.recorded_bytes()));
  WriteFact(html, "Calls that left their plan", CountText(model.bailouts()));
  WriteFact(html, "Guards that failed", CountText(model.guard_failures()));
  WriteFact(html, "Errors of plans alone", CountText(model.plan_exceptions()), model.plan_exceptions() > 0);
  html.Raw("</dl></section></div>");
}

std::string PlanId(const v1::Plan& plan) {
  const std::string text = absl::StrCat(plan.method(), "\n", plan.arguments(), "\n", plan.sizes(), "\n", plan.tier());
  return absl::StrCat("plan-", absl::Hex(std::hash<std::string>{}(text)));
}

void WriteKernel(Html& html, const v1::Plan::Kernel& kernel) {
  html.Raw("<details class=\"kernel\"><summary>");
  if (kernel.set_aside()) html.Raw("<span class=\"bad\">set aside</span> ");
  html.Raw("Kernel of <code>").Text(absl::StrJoin(kernel.results(), "; ")).Raw("</code>");
  if (kernel.bytes() > 0) {
    html.Raw(" <span class=\"note\">").Text(MemoryText(kernel.bytes())).Raw(" of machine code</span>");
  }
  html.Raw("</summary><pre class=\"graph\">").Text(kernel.code()).Raw("</pre></details>");
}

void WritePlan(Html& html, const v1::Plan& plan) {
  html.Raw("<details class=\"plan\" id=\"").Text(PlanId(plan)).Raw("\"><summary><span class=\"tier tier");
  html.Text(absl::StrCat(plan.tier())).Raw("\">");
  if (plan.state() == v1::Plan::COMPILED) {
    html.Raw("tier ").Text(absl::StrCat(plan.tier()));
  } else {
    html.Text(absl::AsciiStrToLower(v1::Plan::State_Name(plan.state())));
  }
  html.Raw("</span> <code>").Text(plan.method()).Raw("(").Text(plan.arguments()).Raw(")</code>");
  if (!plan.sizes().empty()) html.Raw(" <span class=\"note\">for ").Text(plan.sizes()).Raw("</span>");
  html.Raw("<span class=\"headline\">about ").Text(CountText(plan.calls())).Raw(" calls</span></summary>");
  if (plan.state() == v1::Plan::COMPILED) {
    html.Raw("<dl>");
    WriteFact(html, "Compiled in", LatencyText(plan.compile_seconds()));
    WriteFact(html, "Memory", MemoryText(plan.bytes()));
    WriteFact(html, "Guards", CountText(plan.guards()));
    WriteFact(html, "Calls that left it", CountText(plan.bailouts()));
    WriteFact(html, "Guards that failed", CountText(plan.guard_failures()));
    WriteFact(html, "Errors of the model", CountText(plan.model_exceptions()));
    WriteFact(html, "Errors of the plan alone", CountText(plan.plan_exceptions()), plan.plan_exceptions() > 0);
    if (!plan.recording().empty()) WriteFact(html, "Recorded", plan.recording());
    html.Raw("</dl>");
  }
  for (const v1::Plan::Claim& claim : plan.claims()) {
    html.Raw("<p>Speculates on <code>").Text(claim.text()).Raw("</code> <span class=\"note\">").Text(claim.where());
    html.Raw(", wrong ").Text(CountText(claim.failures())).Raw(" times</span></p>");
  }
  for (const v1::Plan::Exception& exception : plan.exceptions()) {
    html.Raw("<p class=\"bad\">The plan alone raised ").Text(CountText(exception.runs())).Raw(" times: <code>");
    html.Text(exception.operator_())
        .Raw("</code> ")
        .Text(exception.where())
        .Raw(" ")
        .Text(exception.text())
        .Raw("</p>");
  }
  if (!plan.graph().empty()) {
    html.Raw("<pre class=\"graph\">").Text(plan.graph()).Raw("</pre>");
    for (const v1::Plan::Kernel& kernel : plan.kernels()) WriteKernel(html, kernel);
  } else if (plan.state() == v1::Plan::COMPILED) {
    html.Raw(
        "<p class=\"note\">The graphs of the plans before take all the room there is; "
        "<code>hearth inspect --plans --graph</code> has this one.</p>");
  }
  html.Raw("</details>");
}

void WritePlans(Html& html, const v1::ModelStatusResponse& status) {
  html.Raw("<section><h2>What it is called with</h2>");
  if (status.plans().plans().empty()) html.Raw("<p class=\"empty\">Nothing was compiled yet.</p>");
  for (const v1::Plan& plan : status.plans().plans()) WritePlan(html, plan);
  html.Raw("</section>");
}

}  // namespace

std::string ModelPage(const v1::ModelStatusResponse& status) {
  const v1::ModelStatus& model = status.model();
  const PageFrame frame{
      .title = absl::StrCat(model.name(), " ", model.version()), .state = model.state(), .json_link = [&](Html& html) {
        WriteModelPath(html, model);
        html.Raw(".json");
      }};
  return FramedPage(frame, [&](Html& html) {
    if (!model.reason().empty()) {
      html.Raw("<section><h2>The latest load failed</h2><pre>").Text(model.reason()).Raw("</pre></section>");
    }
    WriteFigures(html, model);
    if (!model.batching().empty()) html.Raw("<p class=\"note\">Batches: ").Text(model.batching()).Raw("</p>");
    WriteLatency(html, model.traffic());
    WriteTimes(html, model.traffic());
    WriteTiers(html, model);
    WritePlans(html, status);
  });
}

}  // namespace hearth::server
