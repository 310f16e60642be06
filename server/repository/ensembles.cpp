// Ensembles in the repository: how their loads wait for those of their steps' models, when they are loaded again, and
// whether they are ready.
#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/repository/ensemble_graph.h"
#include "server/repository/labels.h"
#include "server/repository/repository.h"
#include "server/repository/repository_log.h"

namespace hearth::server {
namespace fs = std::filesystem;

bool Repository::WaitBehind(const std::string& name, const std::function<std::function<void()>()>& job) {
  std::lock_guard lock(mutex_);
  const auto waiting = std::ranges::find(waiting_jobs_, name, &WaitingJob::name);
  if (waiting == waiting_jobs_.end()) return false;
  WaitingJob behind{name, waiting->models, job()};
  waiting_jobs_.push_back(std::move(behind));
  return true;
}

absl::StatusOr<bool> Repository::AwaitSteps(const absl::StatusOr<fs::path>& folder, const std::string& name,
                                            LoadRequest& request,
                                            const std::function<std::function<void()>()>& job) try {
  const auto config = [&]() -> absl::StatusOr<CheckedConfig> {
    if (!folder.ok()) return folder.status();
    return request.config.has_value() ? *request.config : ReadConfig(*folder);
  }();
  // What is wrong with the configuration is the load's to say.
  if (!config.ok() || !IsEnsemble(config->config)) return false;
  const std::set<std::string> models = StepModels(config->config);
  if (std::exchange(request.loads_steps, false)) {
    for (const std::string& model : models) {
      if (models_.PresenceOf(model) == ModelTable::Presence::kAbsent) LoadStep(model);
    }
  }
  std::lock_guard lock(mutex_);
  if (stop_.stop_requested()) return false;
  std::set<std::string> loading;
  for (const std::string& model : models) {
    if (models_.PresenceOf(model) == ModelTable::Presence::kLoading) loading.insert(model);
  }
  if (loading.empty()) return false;
  // Whoever waits for whom it waits for, and so on.
  std::set<std::string> awaited = loading;
  for (size_t before = 0; before != awaited.size();) {
    before = awaited.size();
    for (const WaitingJob& waiting : waiting_jobs_) {
      if (awaited.contains(waiting.name)) awaited.insert(waiting.models.begin(), waiting.models.end());
    }
  }
  if (awaited.contains(name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the ensemble '", name, "' is a step of its own steps: it waits for ", absl::StrJoin(loading, ", ")));
  }
  waiting_jobs_.push_back({name, std::move(loading), job()});
  return true;
} catch (const std::exception& error) {
  return absl::InternalError(absl::StrCat("loading '", name, "': ", error.what()));
}

void Repository::LoadStep(const std::string& model) {
  const bool announced = models_.BeginLoad(model);
  if (!announced && !models_.Announce(model, FindFolder(model).status())) return;
  RepositoryLog().info("model {} is loaded as a step of an ensemble", model);
  LoadRequest request;
  request.loads_steps = true;
  loader_->Post(model, LoadJob(model, std::move(request), /*announced=*/true, [](const absl::Status&) {}));
}

bool Repository::MayWait() {
  std::lock_guard lock(mutex_);
  return waiting_jobs_.size() < kMostWaiting;
}

std::map<std::string, std::vector<std::function<void()>>> Repository::TakeWaiting(const std::string& model) {
  std::map<std::string, std::vector<std::function<void()>>> ready;
  std::lock_guard lock(mutex_);
  if (models_.PresenceOf(model) == ModelTable::Presence::kLoading) return ready;
  for (WaitingJob& waiting : waiting_jobs_) {
    waiting.models.erase(model);
    if (waiting.models.empty()) ready[waiting.name].push_back(std::move(waiting.job));
  }
  std::erase_if(waiting_jobs_, [](const WaitingJob& waiting) { return waiting.models.empty(); });
  return ready;
}

void Repository::KeepFailed(const std::string& name, const absl::StatusOr<fs::path>& folder, const LoadRequest& request,
                            const absl::Status& status) try {
  std::set<std::string> models;
  if (!status.ok() && folder.ok()) {
    const auto config = request.config.has_value() ? *request.config : ReadConfig(*folder);
    if (config.ok()) models = StepModels(config->config);
  }
  if (models.empty()) return ForgetFailed(name);
  std::lock_guard lock(mutex_);
  FailedEnsemble& failed = failed_ensembles_[name] = {std::move(models), request};
  failed.request.room = nullptr;
} catch (const std::exception& error) {
  RepositoryLog().error("model {} is not loaded again by itself: {}", name, error.what());
}

void Repository::ForgetFailed(const std::string& name) {
  std::lock_guard lock(mutex_);
  failed_ensembles_.erase(name);
}

void Repository::ModelChanged(const std::string& model) {
  // Before what was asked for after them.
  for (auto& [name, jobs] : TakeWaiting(model)) loader_->PostFirst(name, std::move(jobs));
  if (stop_.stop_requested() || models_.PresenceOf(model) != ModelTable::Presence::kServes) return;
  std::map<std::string, LoadRequest> again;
  {
    std::lock_guard lock(mutex_);
    for (auto failed = failed_ensembles_.begin(); failed != failed_ensembles_.end();) {
      if (failed->second.models.contains(model)) {
        again.emplace(failed->first, std::move(failed->second.request));
        failed = failed_ensembles_.erase(failed);
      } else {
        ++failed;
      }
    }
  }
  for (auto& [name, request] : again) {
    request.loads_steps = false;
    if (!models_.BeginLoad(name)) continue;
    loader_->Post(name, LoadJob(name, std::move(request), /*announced=*/true, [](const absl::Status&) {}));
  }
}

void Repository::EndLoad(const std::string& name) {
  models_.EndLoad(name);
  ModelChanged(name);
}

std::set<std::string> Repository::StepsOf(const std::string& name) const {
  std::set<std::string> steps;
  for (const ServablePtr& servable : models_.Serving()) {
    if (servable->name == name) steps.merge(StepModels(servable->config));
  }
  return steps;
}

void Repository::UnloadDependents(const std::set<std::string>& models, Done done) {
  std::set<std::string> needed;
  for (const ServablePtr& servable : models_.Serving()) needed.merge(StepModels(servable->config));
  std::vector<std::string> dependents;
  std::ranges::set_difference(models, needed, std::back_inserter(dependents));
  if (dependents.empty()) return done(absl::OkStatus());
  const auto left = std::make_shared<std::atomic<size_t>>(dependents.size());
  for (const std::string& model : dependents) {
    const Done unloaded = [left, done](const absl::Status&) {
      if (left->fetch_sub(1) == 1) done(absl::OkStatus());
    };
    loader_->Post(model, UnloadJob(model, unloaded, Dependents::kToo));
  }
}

absl::StatusOr<std::shared_ptr<Servable>> Repository::LoadEnsemble(const fs::path& folder, int64_t version,
                                                                   const inference::ModelConfig& config,
                                                                   std::string stamp,
                                                                   std::shared_ptr<ModelStatistics> statistics) {
  const auto start = std::chrono::steady_clock::now();
  if (ensemble_factory_ == nullptr) return absl::UnimplementedError("this server serves no ensembles");
  const auto settings = SettingsOf(config);
  if (!settings.ok()) return settings.status();
  auto labels = LabelsOf(folder, config);
  if (!labels.ok()) return labels.status();
  auto ensemble = ensemble_factory_(config);
  if (!ensemble.ok()) return ensemble.status();
  auto call_interface = factory_(**ensemble, config, FilesIn(folder, kInitialStateFolder));
  if (!call_interface.ok()) return call_interface.status();
  if (absl::Status status = (*ensemble)->CheckSteps(); !status.ok()) return status;

  auto servable = NewServable(version, config, *settings);
  servable->archive_stamp = std::move(stamp);
  servable->ensemble = *std::move(ensemble);
  servable->model = servable->ensemble;
  servable->call_interface = *std::move(call_interface);
  servable->labels = *std::move(labels);
  servable->statistics = std::move(statistics);
  servable->observed = servable->call_interface->ObservedAfter(models_.ObservedBefore(config.name(), version));
  servable->statistics->Loaded(std::chrono::steady_clock::now() - start, std::chrono::nanoseconds(0));
  RepositoryLog().info("{} version {} is loaded: an ensemble of {} steps", config.name(), version,
                       config.ensemble_scheduling().step_size());
  return std::shared_ptr<Servable>(std::move(servable));
}

absl::Status Repository::CheckReady(const std::string& name, const std::string& version) const {
  const auto found = Find(name, version);
  if (IsIdle(found.status())) return absl::OkStatus();
  if (!found.ok() || (*found)->ensemble == nullptr) return found.status();
  const absl::Status steps = (*found)->ensemble->CheckSteps();
  return steps.ok() ? steps : absl::UnavailableError(absl::StrCat("the ensemble '", name, "': ", steps.message()));
}

std::map<std::pair<std::string, std::string>, std::string> Repository::LackingSteps() const {
  std::map<std::pair<std::string, std::string>, std::string> lacking;
  for (const ServablePtr& servable : models_.Serving()) {
    if (servable->ensemble == nullptr) continue;
    const absl::Status steps = servable->ensemble->CheckSteps();
    if (steps.ok()) continue;
    lacking.emplace(std::pair(servable->name, std::to_string(servable->version)), std::string(steps.message()));
  }
  return lacking;
}

std::vector<VersionStatus> Repository::Versions() const {
  std::vector<VersionStatus> versions = models_.Versions();
  const auto lacking = LackingSteps();
  for (VersionStatus& version : versions) {
    const auto why = lacking.find({version.name, version.version});
    if (why == lacking.end() || version.state != ModelState::kReady) continue;
    version.state = ModelState::kUnavailable;
    version.reason = why->second;
  }
  return versions;
}

}  // namespace hearth::server
