#include "server/repository/version_routing.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace hearth::server {
namespace {

using inference::ModelConfig;

// What a parameter says: "NAME=NUMBER, ...".
using Parts = std::vector<std::pair<std::string, int64_t>>;

absl::Status WrongParameter(const std::string& parameter, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("the parameter ", parameter, " ", what));
}

absl::StatusOr<Parts> PartsOf(const ModelConfig& config, const std::string& parameter) {
  Parts parts;
  const auto found = config.parameters().find(parameter);
  if (found == config.parameters().end()) return parts;
  for (const absl::string_view text : absl::StrSplit(found->second.string_value(), ',')) {
    const std::pair<absl::string_view, absl::string_view> part = absl::StrSplit(text, absl::MaxSplits('=', 1));
    int64_t number = 0;
    const absl::string_view name = absl::StripAsciiWhitespace(part.first);
    if (name.empty() || !absl::SimpleAtoi(part.second, &number)) {
      return WrongParameter(parameter,
                            absl::StrCat("has the part '", text, "'; it is a list like 'stable=1, canary=2'"));
    }
    if (parts.size() == kMostVersionLabels) {
      return WrongParameter(parameter, absl::StrCat("has more than ", kMostVersionLabels, " parts"));
    }
    parts.emplace_back(std::string(name), number);
  }
  return parts;
}

std::string LabelsOf(const VersionRouting& routing) {
  if (routing.labels.empty()) return "none";
  return absl::StrJoin(routing.labels, ", ", [](std::string* out, const auto& label) { *out += label.first; });
}

absl::Status ReadLabels(const ModelConfig& config, VersionRouting& routing) {
  const auto parts = PartsOf(config, kVersionLabels);
  if (!parts.ok()) return parts.status();
  for (const auto& [label, version] : *parts) {
    if (!IsVersionLabel(label)) {
      return WrongParameter(kVersionLabels,
                            absl::StrCat("has the label '", label, "'; a label is a letter, then letters, ",
                                         "digits, '_', '-' and '.', at most ", kLongestVersionLabel, " in all"));
    }
    if (version < 1) return WrongParameter(kVersionLabels, absl::StrCat("gives '", label, "' the version ", version));
    if (!routing.labels.emplace(label, version).second) {
      return WrongParameter(kVersionLabels, absl::StrCat("has the label '", label, "' twice"));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadSplit(const ModelConfig& config, VersionRouting& routing) {
  const auto parts = PartsOf(config, kTrafficSplit);
  if (!parts.ok()) return parts.status();
  int64_t sum = 0;
  for (const auto& [name, percent] : *parts) {
    const auto version = VersionNamed(name, routing, config.name());
    if (!version.ok())
      return WrongParameter(kTrafficSplit, absl::StrCat("names '", name, "': ", version.status().message()));
    if (percent < 0 || percent > 100) {
      return WrongParameter(kTrafficSplit, absl::StrCat("gives '", name, "' ", percent, "; percentages are 0 to 100"));
    }
    if (!routing.percents.emplace(*version, static_cast<int>(percent)).second) {
      return WrongParameter(kTrafficSplit, absl::StrCat("has version ", *version, " twice"));
    }
    sum += percent;
  }
  if (!parts->empty() && sum != 100) {
    return WrongParameter(kTrafficSplit, absl::StrCat("has percentages that add up to ", sum, ", not to 100"));
  }
  return absl::OkStatus();
}

}  // namespace

bool IsVersionLabel(std::string_view text) {
  if (text.empty() || text.size() > kLongestVersionLabel || !absl::ascii_isalpha(text.front())) return false;
  return std::ranges::all_of(text, [](unsigned char character) {
    return absl::ascii_isalnum(character) || character == '_' || character == '-' || character == '.';
  });
}

absl::StatusOr<VersionRouting> RoutingOf(const ModelConfig& config) {
  VersionRouting routing;
  if (absl::Status status = ReadLabels(config, routing); !status.ok()) return status;
  if (absl::Status status = ReadSplit(config, routing); !status.ok()) return status;
  return routing;
}

absl::Status CheckRouting(const VersionRouting& routing, const std::vector<int64_t>& chosen) {
  const auto check = [&](int64_t version, const auto&... who) {
    if (std::ranges::find(chosen, version) != chosen.end()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(who..., " version ", version, ", but the version policy chooses ",
                                                   absl::StrJoin(chosen, ", "), " of those that are there"));
  };
  for (const auto& [label, version] : routing.labels) {
    if (absl::Status status = check(version, "the label '", label, "' is"); !status.ok()) return status;
  }
  for (const auto& [version, percent] : routing.percents) {
    if (absl::Status status = check(version, "the parameter ", kTrafficSplit, " names"); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> VersionNamed(const std::string& version, const VersionRouting& routing,
                                     const std::string& model) {
  if (version.empty()) return 0;
  if (IsVersionLabel(version)) {
    const auto found = routing.labels.find(version);
    if (found != routing.labels.end()) return found->second;
    return absl::NotFoundError(
        absl::StrCat("model '", model, "' has no version label '", version, "' (its labels: ", LabelsOf(routing), ")"));
  }
  int64_t number = 0;
  if (absl::SimpleAtoi(version, &number) && number > 0) return number;
  return absl::InvalidArgumentError(
      absl::StrCat("model version '", version, "' is neither a positive number nor a label"));
}

std::vector<int64_t> TurnsOf(const std::map<int64_t, int>& percents) {
  std::vector<int64_t> turns;
  const int sum = std::accumulate(percents.begin(), percents.end(), 0,
                                  [](int before, const auto& part) { return before + part.second; });
  std::map<int64_t, int> credits;
  for (int turn = 0; turn < sum; ++turn) {
    for (const auto& [version, percent] : percents) credits[version] += percent;
    const auto next = std::ranges::max_element(credits, {}, [](const auto& part) { return part.second; });
    next->second -= sum;
    turns.push_back(next->first);
  }
  return turns;
}

}  // namespace hearth::server
