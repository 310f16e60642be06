#include "cli/load_report.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/failure.h"
#include "cli/text.h"

namespace hearth::cli {
namespace {

// Of latencies, in the order in which they are shown.
const std::vector<std::pair<const char*, double>> kPercentiles = {
    {"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p99.9", 0.999}};

double RateOf(const LoadResult& result) {
  return result.seconds > 0 ? static_cast<double>(result.latencies.count()) / result.seconds : 0;
}

bool IsOpen(const LoadOptions& options) { return options.rate > 0 || options.timed; }

}  // namespace

void AddLoadRows(const LoadOptions& options, const LoadResult& result, std::vector<std::vector<std::string>>& rows) {
  rows.push_back({"answered", absl::StrFormat("%d in %.2f s, %.1f a second", result.latencies.count(), result.seconds,
                                              RateOf(result))});
  rows.push_back({"failed", std::to_string(result.failed)});
  for (const auto& [name, error] : result.errors) {
    rows.push_back({"", absl::StrCat(error.count, " ", name, ": ", OneLine(error.message))});
  }
  if (IsOpen(options)) rows.push_back({"sent late", std::to_string(result.late)});
  const auto add = [&](const std::string& name, std::chrono::nanoseconds time) {
    rows.push_back({absl::StrCat("latency ", name), absl::StrFormat("%.3f ms", Milliseconds(time))});
  };
  add("mean", result.latencies.mean());
  add("min", result.latencies.least());
  for (const auto& [name, share] : kPercentiles) add(name, result.latencies.Percentile(share));
  add("max", result.latencies.largest());
}

void AddLoadFields(const LoadOptions& options, const LoadResult& result, Json& json) {
  Json latency = {{"mean", Milliseconds(result.latencies.mean())}, {"min", Milliseconds(result.latencies.least())}};
  for (const auto& [name, share] : kPercentiles) latency[name] = Milliseconds(result.latencies.Percentile(share));
  latency["max"] = Milliseconds(result.latencies.largest());
  Json errors = Json::object();
  for (const auto& [name, error] : result.errors) errors[name] = {{"count", error.count}, {"message", error.message}};
  json["seconds"] = result.seconds;
  json["answered"] = result.latencies.count();
  json["failed"] = result.failed;
  json["answered_per_second"] = RateOf(result);
  if (IsOpen(options)) json["late"] = result.late;
  json["latency_ms"] = std::move(latency);
  json["errors"] = std::move(errors);
}

}  // namespace hearth::cli
