#include "server/repository/served_set.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/repository/shadow_traffic.h"

namespace hearth::server {

absl::StatusOr<bool> KeepsPrevious(const inference::ModelConfig& config) {
  const auto found = config.parameters().find(kKeepPrevious);
  if (found == config.parameters().end()) return false;
  const std::string& text = found->second.string_value();
  if (text == "true" || text == "false") return text == "true";
  return absl::InvalidArgumentError(
      absl::StrCat("the parameter ", kKeepPrevious, " is '", text, "'; it is 'true' or 'false'"));
}

bool ServeAlike(const inference::ModelConfig& one, const inference::ModelConfig& other) {
  const auto without_routing = [](inference::ModelConfig config) {
    config.clear_version_policy();
    config.mutable_parameters()->erase(kVersionLabels);
    config.mutable_parameters()->erase(kTrafficSplit);
    config.mutable_parameters()->erase(kKeepPrevious);
    for (const char* name : ShadowParameters()) config.mutable_parameters()->erase(name);
    return config;
  };
  return google::protobuf::util::MessageDifferencer::Equals(without_routing(one), without_routing(other));
}

void ServedSet::Add(const ServablePtr& servable) {
  versions_[servable->version] = {.config = servable->config,
                                  .archive_stamp = servable->archive_stamp,
                                  .servable = servable,
                                  .kept = nullptr,
                                  .of_client = servable->files != nullptr,
                                  .files = servable->files};
}

void ServedSet::Keep(const ServedSet& now) {
  for (auto& [number, version] : versions_) {
    const ServablePtr servable = version.servable.lock();
    const auto same = now.versions_.find(number);
    const bool serves = same != now.versions_.end() && same->second.servable.lock() == servable;
    version.kept = serves ? nullptr : servable;
  }
}

void ServedSet::LetGo() {
  for (auto& [number, version] : versions_) version.kept = nullptr;
}

bool ServedSet::Keeps(int64_t version) const {
  const auto found = versions_.find(version);
  return found != versions_.end() && found->second.kept != nullptr;
}

bool ServedSet::IsSame(const ServedSet& other) const {
  return std::ranges::equal(versions_, other.versions_, [](const auto& one, const auto& two) {
    return one.first == two.first && one.second.archive_stamp == two.second.archive_stamp &&
           google::protobuf::util::MessageDifferencer::Equals(one.second.config, two.second.config);
  });
}

ServedSet ServedSet::Only(int64_t version) const {
  ServedSet only(routing_);
  only.routing_.percents.clear();
  for (auto& [label, named] : only.routing_.labels) named = version;
  const auto found = versions_.find(version);
  Version& alone = only.versions_[version];
  if (found != versions_.end()) alone = found->second;
  if (found == versions_.end()) {
    const Version& highest = versions_.rbegin()->second;
    alone.config = highest.config;
    alone.of_client = highest.of_client;
    alone.files = highest.files;
  }
  // Whatever archive lies there now is meant.
  alone.archive_stamp.clear();
  auto& policy = *alone.config.mutable_version_policy()->mutable_specific();
  policy.clear_versions();
  policy.add_versions(version);
  auto& parameters = *alone.config.mutable_parameters();
  parameters.erase(kTrafficSplit);
  if (const auto labels = parameters.find(kVersionLabels); labels != parameters.end()) {
    labels->second.set_string_value(absl::StrJoin(only.routing_.labels, ", ", [](std::string* out, const auto& label) {
      absl::StrAppend(out, label.first, "=", label.second);
    }));
  }
  return only;
}

std::string ServedSet::Names() const {
  return absl::StrJoin(versions_, ", ",
                       [](std::string* out, const auto& version) { absl::StrAppend(out, version.first); });
}

}  // namespace hearth::server
