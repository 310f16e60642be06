#include "server/status/page_frame.h"

#include <chrono>

#include "absl/strings/ascii.h"
#include "wire/figures.h"

namespace hearth::server {
namespace {

// The class of a state's colour.
Html::Markup ColourOf(std::string_view state) {
  if (state == "READY") return "state good";
  if (state == "LOADING" || state == "UNLOADING" || state == "DRAINING") return "state busy";
  return "state bad";
}

int64_t NowMilliseconds() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

std::string FramedPage(const PageFrame& frame, const std::function<void(Html&)>& content) {
  Html html;
  html.Raw("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>").Text(frame.title);
  html.Raw(
      " · hearth</title><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
      "<meta name=\"color-scheme\" content=\"light dark\">"
      "<link rel=\"stylesheet\" href=\"/status/style.css\"><link rel=\"icon\" href=\"/status/icon.svg\">"
      "<noscript><meta http-equiv=\"refresh\" content=\"10\"></noscript>"
      "<script src=\"/status/script.js\" defer></script></head>\n<body>"
      "<header><a class=\"brand\" href=\"/status\"><svg viewBox=\"0 0 16 16\" aria-hidden=\"true\">"
      "<path d=\"M8 1c.6 2.6 4.6 4.3 4.6 8.4A4.6 4.6 0 0 1 8 14.2a4.6 4.6 0 0 1-4.6-4.8"
      "c0-1.9 1-3 1.8-3.9.2 1.3.7 1.9 1.3 2.2C6.3 5.4 6.7 2.8 8 1z\"/></svg>hearth</a></header>\n"
      "<main id=\"live\">");
  html.Raw("<div class=\"title\"><h1>").Name(frame.title).Raw("</h1>");
  WriteState(html, frame.state);
  html.Raw("</div>");
  content(html);
  html.Raw("<p class=\"made\"><time>").Text(ClockText(NowMilliseconds())).Raw("</time></p></main>\n<footer><a href=\"");
  frame.json_link(html);
  html.Raw(
      "\">JSON</a><a href=\"/metrics\">Metrics</a>"
      "<span class=\"lost\" hidden>The server does not answer; these are its last words.</span></footer>"
      "</body></html>\n");
  return html.Take();
}

void WriteModelPath(Html& html, const v1::ModelStatus& model) {
  html.Raw("/status/models/").PathPart(model.name()).Raw("/versions/").PathPart(model.version());
}

void WriteState(Html& html, std::string_view state) {
  html.Raw("<span class=\"").Raw(ColourOf(state)).Raw("\">");
  html.Text(absl::AsciiStrToLower(absl::string_view(state.data(), state.size()))).Raw("</span>");
}

void WriteFigure(Html& html, const Figure& figure) {
  html.Raw("<div class=\"figure\"><h2>").Raw(figure.name).Raw("</h2><p class=\"value\">").Text(figure.value);
  html.Raw("</p><p class=\"note\">").Text(figure.note).Raw("</p>");
  if (figure.history != nullptr) WriteSparkline(html, *figure.history, figure.history_label);
  html.Raw("</div>");
}

void WriteFact(Html& html, Html::Markup name, std::string_view value, bool is_bad) {
  html.Raw("<div><dt>").Raw(name).Raw("</dt><dd");
  if (is_bad) html.Raw(" class=\"bad\"");
  html.Raw(">").Text(value).Raw("</dd></div>");
}

Values RatesOf(const v1::Traffic& traffic) {
  Values values;
  for (const v1::TrafficPoint& point : traffic.points()) {
    values.emplace_back(static_cast<double>(point.requests()) / traffic.interval_seconds());
  }
  return values;
}

Values FailureRatesOf(const v1::Traffic& traffic) {
  Values values;
  for (const v1::TrafficPoint& point : traffic.points()) {
    values.emplace_back(static_cast<double>(point.failures()) / traffic.interval_seconds());
  }
  return values;
}

Values LatenciesOf(const v1::Traffic& traffic, double (v1::Latency::*percentile)() const) {
  Values values;
  for (const v1::TrafficPoint& point : traffic.points()) {
    values.push_back(point.has_latency() ? std::optional((point.latency().*percentile)()) : std::nullopt);
  }
  return values;
}

double LatestRate(const v1::Traffic& traffic) {
  const Values rates = RatesOf(traffic);
  return rates.empty() ? 0 : rates.back().value_or(0);
}

std::string LatencyTextOf(const v1::Traffic& traffic, double (v1::Latency::*percentile)() const) {
  return traffic.has_latency() ? LatencyText((traffic.latency().*percentile)()) : "–";
}

}  // namespace hearth::server
