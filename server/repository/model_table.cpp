#include "server/repository/model_table.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/repository/metric_options.h"
#include "server/repository/repository_log.h"

namespace hearth::server {

absl::Status ShuttingDown() { return absl::UnavailableError("the server is shutting down"); }

const char* ModelStateName(ModelState state) {
  switch (state) {
    case ModelState::kUnknown:
      return "";
    case ModelState::kReady:
      return "READY";
    case ModelState::kUnavailable:
      return "UNAVAILABLE";
    case ModelState::kLoading:
      return "LOADING";
    case ModelState::kUnloading:
      return "UNLOADING";
  }
  return "";
}

void ModelTable::Know(const std::set<std::string>& names) {
  std::unique_lock lock(mutex_);
  for (const std::string& name : names) entries_.try_emplace(name);
  looked_ = true;
}

ModelTable::Presence ModelTable::PresenceOf(const std::string& name) const {
  std::shared_lock lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end()) return Presence::kAbsent;
  const Entry& entry = found->second;
  const auto serves = [](const auto& version) { return version.second.serving != nullptr; };
  if (std::ranges::any_of(entry.versions, serves)) return Presence::kServes;
  if (entry.loading > 0) return Presence::kLoading;
  return entry.idle && Clock::now() >= entry.idle->not_until ? Presence::kServes : Presence::kAbsent;
}

void ModelTable::SetStarted() {
  std::unique_lock lock(mutex_);
  started_ = true;
}

bool ModelTable::BeginLoad(const std::string& name) {
  std::unique_lock lock(mutex_);
  const auto entry = entries_.find(name);
  if (entry == entries_.end()) return false;
  ++entry->second.loading;
  return true;
}

void ModelTable::EndLoad(const std::string& name) {
  std::unique_lock lock(mutex_);
  --entries_[name].loading;
}

bool ModelTable::Announce(const std::string& name, const absl::Status& found) {
  std::unique_lock lock(mutex_);
  if (absl::IsNotFound(found) && entries_.count(name) == 0) return false;
  ++entries_[name].loading;
  return true;
}

std::shared_ptr<ModelStatistics> ModelTable::StatisticsOf(const std::string& name, int64_t version) {
  std::unique_lock lock(mutex_);
  Version& entry = entries_[name].versions[version];
  if (entry.statistics == nullptr) entry.statistics = std::make_shared<ModelStatistics>();
  return entry.statistics;
}

void ModelTable::SetChosen(const std::string& name, int64_t version) {
  std::unique_lock lock(mutex_);
  entries_[name].versions[version].chosen = true;
}

std::shared_ptr<ObservedCalls> ModelTable::ObservedBefore(const std::string& name, int64_t version) const {
  std::shared_lock lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end()) return nullptr;
  const auto same = found->second.versions.find(version);
  return same == found->second.versions.end() ? nullptr : same->second.observed;
}

ServablePtr ModelTable::PredecessorOf(const std::string& name, int64_t version) const {
  std::shared_lock lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end()) return nullptr;
  const auto& versions = found->second.versions;
  const auto same = versions.find(version);
  if (same != versions.end() && same->second.serving != nullptr) return same->second.serving;
  for (auto it = versions.rbegin(); it != versions.rend(); ++it) {
    if (it->second.serving != nullptr) return it->second.serving;
  }
  return nullptr;
}

absl::StatusOr<ServedSet> ModelTable::RollbackTarget(const std::string& name, int64_t version) const {
  std::shared_lock lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end()) return absl::NotFoundError(absl::StrCat("unknown model '", name, "'"));
  const ServedSet serving = ServedOf(found->second);
  const ServedSet& previous = found->second.previous;
  if (version == 0 && !previous.versions().empty()) return previous;
  if (version == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("nothing of model '", name, "' served before what serves now; name a version"));
  }
  if (serving.versions().contains(version)) return serving.Only(version);
  if (previous.versions().contains(version)) return previous.Only(version);
  if (!serving.versions().empty()) return serving.Only(version);
  return absl::FailedPreconditionError(absl::StrCat("model '", name, "' does not serve; load it"));
}

void ModelTable::Fail(const std::string& name, const absl::Status& status) {
  std::unique_lock lock(mutex_);
  Entry& entry = entries_[name];
  --entry.loading;
  entry.failure = std::string(status.message());
  bool counted = false;
  for (const auto& [number, version] : entry.versions) {
    if (!IsListed(version) || version.statistics == nullptr) continue;
    version.statistics->LoadFailed();
    counted = true;
  }
  if (!counted) entry.statistics->LoadFailed();
  if (entry.idle) entry.idle->not_until = Clock::now() + rest_;
}

void ModelTable::Swap(const std::string& name, VersionRouting routing,
                      const std::map<int64_t, absl::StatusOr<ServablePtr>>& loaded, std::string note) {
  // What is swapped out is let go of after the lock.
  std::vector<ServablePtr> old;
  std::optional<Idle> idle;
  std::unique_lock lock(mutex_);
  Entry& entry = entries_[name];
  ServedSet previous = ServedOf(entry);
  --entry.loading;
  entry.failure.clear();
  entry.unloaded = false;
  NoteUse(entry);
  const auto is_loaded = [](const auto& version) { return version.second.ok(); };
  // To find that there is no room takes no load.
  const auto lacks_room = [](const auto& version) { return MemoryBudget::IsNoRoom(version.second.status()); };
  if (std::ranges::any_of(loaded, is_loaded)) {
    std::swap(entry.idle, idle);
  } else if (entry.idle && !std::ranges::all_of(loaded, lacks_room)) {
    entry.idle->not_until = Clock::now() + rest_;
  }
  const bool all_loaded = std::ranges::all_of(loaded, is_loaded);
  // Requests for an idle model may find no room any number of times.
  const auto is_failure = [&entry](const absl::Status& status) {
    return status != ShuttingDown() && !(entry.idle && MemoryBudget::IsNoRoom(status));
  };
  for (auto& [number, version] : entry.versions) {
    auto it = loaded.find(number);
    version.chosen = it != loaded.end();
    if (it != loaded.end() && !it->second.ok()) {
      version.failure = std::string(it->second.status().message());
      if (is_failure(it->second.status())) version.statistics->LoadFailed();
      continue;
    }
    version.failure.clear();
    // What nobody chose goes when what was chosen in its place is there.
    if (it == loaded.end() && !all_loaded) continue;
    ServablePtr next = it == loaded.end() ? nullptr : *it->second;
    if (next == version.serving) continue;
    if (next != nullptr && next->memory != nullptr) {
      version.measured_stamp = next->archive_stamp;
      version.measured = next->memory->use();
    }
    old.push_back(SetServing(version, std::move(next)));
    if (version.serving != nullptr) version.observed = version.serving->observed;
  }
  entry.routing = std::move(routing);
  entry.note = std::move(note);
  TakeTurns(name, entry);
  const ServedSet now = ServedOf(entry);
  if (!previous.versions().empty() && !previous.IsSame(now)) {
    if (std::ranges::any_of(now.versions(), [](const auto& each) { return *KeepsPrevious(each.second.config); })) {
      previous.Keep(now);
    }
    std::swap(entry.previous, previous);
  }
  lock.unlock();
}

ServablePtr ModelTable::SetServing(Version& version, ServablePtr serving) {
  version.last = version.serving;
  version.shown = serving == nullptr ? nullptr : ServablePtr(serving.get(), [serving](const Servable*) {});
  // A configuration that is served was checked.
  if (serving != nullptr) version.statistics->SetMetrics(*MetricSettingsOf(serving->config));
  return std::exchange(version.serving, std::move(serving));
}

ServedSet ModelTable::ServedOf(const Entry& entry) {
  if (entry.idle) return entry.idle->model.served;
  ServedSet served(entry.routing);
  for (const auto& [number, version] : entry.versions) {
    if (version.serving != nullptr) served.Add(version.serving);
  }
  return served;
}

void ModelTable::TakeTurns(const std::string& name, Entry& entry) {
  std::map<int64_t, int> serving;
  for (const auto& [number, percent] : entry.routing.percents) {
    if (entry.versions[number].serving != nullptr) {
      serving.emplace(number, percent);
    } else if (percent > 0) {
      RepositoryLog().warn("{} version {} does not serve: {}", name, number, SplitNote(entry, number));
    }
  }
  entry.turns = TurnsOf(serving);
}

std::string ModelTable::SplitNote(const Entry& entry, int64_t version) {
  const auto part = entry.routing.percents.find(version);
  if (part == entry.routing.percents.end() || part->second == 0) return "";
  return absl::StrCat("its ", part->second, " % of the requests go to the versions that serve");
}

absl::Status ModelTable::Unload(const std::string& name) {
  std::vector<ServablePtr> old;
  ServedSet previous;
  std::optional<Idle> idle;
  std::unique_lock lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end()) return absl::NotFoundError(absl::StrCat("unknown model '", name, "'"));
  Entry& entry = found->second;
  for (auto& [number, version] : entry.versions) {
    version.failure.clear();
    if (version.serving == nullptr) continue;
    old.push_back(SetServing(version, nullptr));
  }
  entry.failure.clear();
  std::swap(entry.idle, idle);
  entry.unloaded = true;
  entry.turns.clear();
  std::swap(entry.previous, previous);
  lock.unlock();
  return absl::OkStatus();
}

MemoryUse ModelTable::MeasuredBefore(const std::string& name, int64_t version, const std::string& stamp) const {
  std::shared_lock lock(mutex_);
  const auto entry = entries_.find(name);
  if (entry == entries_.end()) return {};
  const auto found = entry->second.versions.find(version);
  const bool known = found != entry->second.versions.end() && found->second.measured_stamp == stamp;
  return known ? found->second.measured : MemoryUse();
}

ServablePtr ModelTable::ServingVersion(const std::string& name, int64_t version) const {
  std::shared_lock lock(mutex_);
  const auto entry = entries_.find(name);
  if (entry == entries_.end()) return nullptr;
  const auto found = entry->second.versions.find(version);
  return found == entry->second.versions.end() ? nullptr : found->second.serving;
}

bool ModelTable::IsOfClient(const std::string& name) const {
  std::shared_lock lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end()) return false;
  const ServedSet served = ServedOf(found->second);
  return std::ranges::any_of(served.versions(), [](const auto& version) { return version.second.of_client; });
}

void ModelTable::Forget(const std::string& name) {
  std::unique_lock lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end() || found->second.loading > 0 || found->second.idle) return;
  const auto serves = [](const auto& version) { return version.second.serving != nullptr; };
  if (std::ranges::none_of(found->second.versions, serves)) entries_.erase(found);
}

void ModelTable::Clear() {
  std::unique_lock lock(mutex_);
  entries_.clear();
}

absl::Status ModelTable::Unknown(const std::string& name) const {
  if (!looked_) return absl::UnavailableError("the server is starting: its models are not known yet");
  return absl::NotFoundError(absl::StrCat("unknown model '", name, "'"));
}

absl::StatusOr<ServablePtr> ModelTable::FindIn(const std::string& name, const Entry& entry,
                                               const std::string& version) {
  auto number = VersionNamed(version, entry.routing, name);
  if (!number.ok()) return number.status();
  if (*number == 0 && !entry.turns.empty()) number = entry.turns.front();
  return FindServing(name, entry, version, *number);
}

absl::StatusOr<ServablePtr> ModelTable::Find(const std::string& name, const std::string& version) const {
  std::shared_lock lock(mutex_);
  const auto found = entries_.find(name);
  return found == entries_.end() ? Unknown(name) : FindIn(name, found->second, version);
}

absl::StatusOr<ServablePtr> ModelTable::Choose(const std::string& name, const std::string& version) const {
  std::shared_lock lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end()) return Unknown(name);
  const Entry& entry = found->second;
  NoteUse(entry);
  if (!version.empty() || entry.turns.empty()) return FindIn(name, entry, version);
  const uint64_t turn = entry.turn.fetch_add(1, std::memory_order_relaxed);
  return FindServing(name, entry, version, entry.turns[turn % entry.turns.size()]);
}

absl::Status ModelTable::NotServed(const std::string& name, int64_t number, const std::vector<int64_t>& served) {
  return absl::NotFoundError(
      absl::StrCat("model '", name, "' does not serve version ", number, ", only ", absl::StrJoin(served, ", ")));
}

absl::StatusOr<ServablePtr> ModelTable::FindServing(const std::string& name, const Entry& entry,
                                                    const std::string& version, int64_t number) {
  std::vector<int64_t> served;
  std::string failures;
  for (auto it = entry.versions.rbegin(); it != entry.versions.rend(); ++it) {
    const auto& [candidate, state] = *it;
    if (state.serving != nullptr) {
      if (number == 0 || candidate == number) return state.serving;
      served.insert(served.begin(), candidate);
    }
    if (number == 0 || candidate == number) {
      if (!state.failure.empty()) absl::StrAppend(&failures, "; version ", candidate, ": ", state.failure);
    }
  }
  std::string what = absl::StrCat("model '", name, "'");
  if (number != 0) what = absl::StrCat("version ", number, " of ", what);
  if (IsVersionLabel(version)) what = absl::StrCat("the label '", version, "', ", what, ",");
  if (!entry.failure.empty()) absl::StrAppend(&failures, "; ", entry.failure);
  if (entry.idle && Clock::now() >= entry.idle->not_until) return IdleStatus(what, name, entry, number);
  if (entry.loading > 0) return absl::UnavailableError(absl::StrCat(what, " is loading"));
  if (!failures.empty()) return absl::UnavailableError(absl::StrCat(what, " failed to load", failures));
  if (number != 0 && !served.empty()) return NotServed(name, number, served);
  return absl::UnavailableError(absl::StrCat(what, entry.unloaded ? " is unloaded" : " is not loaded"));
}

std::vector<int64_t> ModelTable::ServedVersions(const std::string& name) const {
  std::vector<int64_t> served;
  std::shared_lock lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end()) return served;
  for (const auto& [number, version] : found->second.versions) {
    if (version.serving != nullptr) served.push_back(number);
  }
  return served;
}

std::vector<ServablePtr> ModelTable::Serving() const {
  std::vector<ServablePtr> serving;
  std::shared_lock lock(mutex_);
  for (const auto& [name, entry] : entries_) {
    for (const auto& [number, version] : entry.versions) {
      if (version.serving != nullptr) serving.push_back(version.shown);
    }
  }
  return serving;
}

std::vector<VersionStatus> ModelTable::Versions() const {
  std::vector<VersionStatus> versions;
  std::shared_lock lock(mutex_);
  for (const auto& [name, entry] : entries_) {
    const size_t before = versions.size();
    for (const auto& [number, version] : entry.versions) {
      if (!IsListed(version)) continue;
      VersionStatus& status = versions.emplace_back(
          VersionStatus{name, std::to_string(number), version.shown, version.statistics,
                        StateOf(entry, number, version), version.failure.empty() ? entry.failure : version.failure});
      status.idle =
          entry.idle && Clock::now() >= entry.idle->not_until && entry.idle->model.served.versions().contains(number);
      if (status.idle && status.reason.empty()) status.reason = entry.idle->reason;
    }
    if (versions.size() == before) {
      const ModelState state = entry.loading > 0 ? ModelState::kLoading : ModelState::kUnavailable;
      versions.push_back({name, "", nullptr, entry.statistics, state, entry.failure});
    }
  }
  return versions;
}

ModelState ModelTable::StateOf(const Entry& entry, int64_t number, const Version& version) {
  if (version.serving != nullptr) return ModelState::kReady;
  if (entry.loading > 0) return ModelState::kLoading;
  if (entry.previous.Keeps(number)) return ModelState::kUnavailable;
  return version.last.expired() ? ModelState::kUnavailable : ModelState::kUnloading;
}

std::vector<IndexEntry> ModelTable::Index(std::set<std::string> on_disk, bool ready_only) const {
  std::vector<IndexEntry> index;
  std::shared_lock lock(mutex_);
  for (const auto& [name, entry] : entries_) {
    on_disk.erase(name);
    bool listed = false;
    for (const auto& [number, version] : entry.versions) {
      IndexEntry item{name, std::to_string(number), StateOf(entry, number, version), version.failure};
      if (item.state == ModelState::kUnavailable && item.reason.empty()) {
        const bool idle = entry.idle && entry.idle->model.served.versions().contains(number);
        item.reason = idle ? entry.idle->reason : entry.previous.Keeps(number) ? "kept for a rollback" : "unloaded";
      }
      if (item.state == ModelState::kReady && item.reason.empty()) item.reason = entry.failure;
      if (item.state == ModelState::kReady && item.reason.empty()) item.reason = entry.note;
      if (item.state == ModelState::kReady && item.reason.empty()) item.reason = version.serving->note;
      const std::string split =
          version.serving == nullptr && !entry.unloaded && !entry.idle ? SplitNote(entry, number) : "";
      if (!split.empty()) absl::StrAppend(&item.reason, item.reason.empty() ? "" : "; ", split);
      listed = true;
      if (!ready_only || item.state == ModelState::kReady) index.push_back(std::move(item));
    }
    if (!listed && !ready_only) {
      const ModelState state = entry.loading > 0 ? ModelState::kLoading : ModelState::kUnavailable;
      index.push_back({name, "", state, entry.failure});
    }
  }
  for (const std::string& name : on_disk) index.push_back({name, "", ModelState::kUnknown, ""});
  std::stable_sort(index.begin(), index.end(),
                   [](const IndexEntry& a, const IndexEntry& b) { return a.name < b.name; });
  return index;
}

bool ModelTable::AllReady() const {
  std::shared_lock lock(mutex_);
  if (!started_) return false;
  return std::all_of(entries_.begin(), entries_.end(), [](const auto& item) {
    const Entry& entry = item.second;
    const auto serves = [](const auto& version) { return version.second.serving != nullptr; };
    const auto failed = [](const auto& version) { return !version.second.failure.empty(); };
    if (entry.unloaded || entry.idle || std::any_of(entry.versions.begin(), entry.versions.end(), serves)) return true;
    return entry.failure.empty() && std::none_of(entry.versions.begin(), entry.versions.end(), failed);
  });
}

std::vector<std::string> ModelTable::Failures() const {
  std::vector<std::string> failures;
  std::shared_lock lock(mutex_);
  for (const auto& [name, entry] : entries_) {
    if (!entry.failure.empty()) failures.push_back(absl::StrCat(name, ": ", entry.failure));
    for (const auto& [number, version] : entry.versions) {
      if (!version.failure.empty()) failures.push_back(absl::StrCat(name, " version ", number, ": ", version.failure));
    }
  }
  return failures;
}

bool ModelTable::started() const {
  std::shared_lock lock(mutex_);
  return started_;
}

bool ModelTable::Knows(const std::string& name) const {
  std::shared_lock lock(mutex_);
  return entries_.count(name) > 0;
}

std::vector<std::string> ModelTable::KnownModels() const {
  std::vector<std::string> names;
  std::shared_lock lock(mutex_);
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

}  // namespace hearth::server
