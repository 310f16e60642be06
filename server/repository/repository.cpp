#include "server/repository/repository.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/repository/layout.h"
#include "server/repository/repository_log.h"

namespace hearth::server {
namespace fs = std::filesystem;
namespace {

absl::StatusOr<CheckedConfig> ReadRequested(const std::string& json, const std::string& model) {
  auto config = ParseModelConfigJson(json);
  if (!config.ok()) return config.status();
  return CheckModelConfig(*std::move(config), model);
}

// In memory.
int64_t SizeOf(const std::optional<absl::StatusOr<CheckedConfig>>& config) {
  return config.has_value() && config->ok() ? static_cast<int64_t>((*config)->config.SpaceUsedLong()) : 0;
}

std::vector<fs::path> ResolvedWithin(const Repository::Options& options) {
  std::vector<fs::path> folders = options.roots;
  if (options.client_files != nullptr) folders.push_back(options.client_files->root());
  return folders;
}

// Adds to what is used until the last reference to the result goes; null if that were more than there may be.
std::shared_ptr<const void> TakeRoom(const std::shared_ptr<std::atomic<int64_t>>& used, int64_t bytes) {
  if (used->fetch_add(bytes) + bytes > kMostWaitingConfigBytes) {
    *used -= bytes;
    return nullptr;
  }
  return std::shared_ptr<const void>(used.get(), [used, bytes](const void*) { *used -= bytes; });
}

}  // namespace

absl::Status TooMany(const char* what) { return absl::ResourceExhaustedError(absl::StrCat(what, "; try again later")); }

Repository::Repository(Options options, Runtime& runtime, CallInterfaceFactory factory, std::function<void()> changed)
    : options_(std::move(options)),
      resolved_within_(ResolvedWithin(options_)),
      runtime_(runtime),
      factory_(std::move(factory)),
      changed_(std::move(changed)),
      budget_(options_.memory_budget),
      models_(options_.rest_after_failure),
      reminder_(changed_),
      loader_(std::make_unique<KeyedExecutor>(std::max(1, options_.load_threads),
                                              KeyedExecutor::Limits{kMostWaitingOfModel, kMostWaiting})) {}

Repository::~Repository() {
  // Its jobs may post others.
  loader_->Finish();
  models_.Clear();
}

absl::StatusOr<std::set<std::string>> Repository::ModelsOfStart() const {
  std::set<std::string> on_disk;
  for (const fs::path& root : options_.roots) {
    auto found = ListModels(root);
    if (!found.ok()) return found.status();
    on_disk.insert(found->begin(), found->end());
  }
  if (options_.control != ModelControl::kExplicit || options_.load_models == std::vector<std::string>{"*"}) {
    return on_disk;
  }
  std::set<std::string> names;
  for (const std::string& name : options_.load_models) {
    if (absl::Status status = CheckModelName(name); !status.ok()) return status;
    names.insert(name);
  }
  return names;
}

absl::Status Repository::LoadAll(std::function<void()> done, const std::set<std::string>& later) {
  const auto found = ModelsOfStart();
  if (!found.ok()) return found.status();
  const std::set<std::string>& names = *found;
  auto finish = [this, done = std::move(done)] {
    models_.SetStarted();
    changed_();
    done();
  };
  // So that a request that comes too early hears that its model is loading.
  models_.Know(names);
  if (names.empty()) {
    loader_->Post("", finish);
    return absl::OkStatus();
  }
  auto left = std::make_shared<std::atomic<size_t>>(names.size());
  // An ensemble waits for its steps' models that are being loaded, whichever comes first.
  for (const std::string& name : names) models_.BeginLoad(name);
  for (const std::string& name : names) {
    const Done loaded = [left, finish](const absl::Status&) {
      if (left->fetch_sub(1) == 1) finish();
    };
    if (later.contains(name)) {
      std::lock_guard lock(mutex_);
      later_.emplace(name, loaded);
    } else {
      LoadRequest request;
      request.loads_steps = options_.control == ModelControl::kExplicit;
      loader_->Post(name, LoadJob(name, std::move(request), /*announced=*/true, loaded));
    }
  }
  return absl::OkStatus();
}

Repository::Done Repository::TakeLater(const std::string& name) {
  std::lock_guard lock(mutex_);
  const auto found = later_.find(name);
  if (found == later_.end()) return nullptr;
  Done done = std::move(found->second);
  later_.erase(found);
  return done;
}

void Repository::StopLoading() {
  stop_.request_stop();
  std::map<std::string, Done> later;
  std::map<std::string, std::vector<Waiter>> waiting;
  std::vector<WaitingJob> jobs;
  {
    std::lock_guard lock(mutex_);
    later.swap(later_);
    waiting.swap(waiting_for_load_);
    jobs.swap(waiting_jobs_);
  }
  for (WaitingJob& each : jobs) loader_->Post(each.name, std::move(each.job));
  for (const auto& [name, waiters] : waiting) {
    for (const Waiter& waiter : waiters) waiter.done(ShuttingDown());
  }
  for (const auto& [name, done] : later) loader_->Post(name, LoadJob(name, {}, /*announced=*/true, done));
}

absl::Status Repository::CheckControl() const {
  if (options_.control == ModelControl::kAll || options_.control == ModelControl::kExplicit) return absl::OkStatus();
  // Triton's words, which tools look for.
  return absl::UnavailableError(absl::StrCat("explicit model load / unload is not allowed if polling is enabled",
                                             " (model_control_mode is ",
                                             options_.control == ModelControl::kPoll ? "poll)" : "none)"));
}

void Repository::Load(const std::string& name, std::optional<std::string> config_json, Done done,
                      ShadowOverrides shadow, const FileContents& files) {
  if (absl::Status status = CheckControl(); !status.ok()) return done(status);
  if (absl::Status status = CheckModelName(name); !status.ok()) return done(status);
  if (const auto read = ShadowSettingsOf({}, shadow); !read.ok()) return done(read.status());
  if (absl::Status status = CheckFiles(files, config_json.has_value()); !status.ok()) return done(status);
  if (stop_.stop_requested()) return done(ShuttingDown());
  // Read here and now, so that what waits holds no text.
  LoadRequest request;
  request.loads_steps = true;
  request.shadow = std::move(shadow);
  request.fetch = Fetch::kMust;
  if (config_json.has_value()) request.config = ReadRequested(*config_json, name);
  config_json.reset();
  request.room = TakeRoom(waiting_config_bytes_, SizeOf(request.config));
  if (request.room == nullptr) return done(TooMany("the configurations of loads that wait take too much memory"));
  if (!files.empty()) {
    auto written = options_.client_files->Write(files);
    if (!written.ok()) return done(written.status());
    RepositoryLog().info("model {} is to be loaded from files of a client: {}", name, files.size());
    request.files = *std::move(written);
  }

  const bool announced = models_.BeginLoad(name);
  if (MayWait() && loader_->TryPost(name, LoadJob(name, std::move(request), announced, done))) return;
  if (announced) EndLoad(name);
  done(TooMany("too many loads wait"));
}

absl::Status Repository::CheckFiles(const FileContents& files, bool has_config) const {
  if (files.empty()) return absl::OkStatus();
  if (options_.client_files == nullptr) {
    return absl::FailedPreconditionError(
        "loads with files of clients are not allowed here (the setting client_files_bytes)");
  }
  if (!has_config) {
    return absl::InvalidArgumentError(
        "a load with files should have the parameter 'config', with the model's configuration; it has none");
  }
  return CheckClientFiles(files);
}

void Repository::Refresh(const std::string& name, Done done) {
  const Done later = TakeLater(name);
  const bool is_gone = FindFolder(name).status().code() == absl::StatusCode::kNotFound;
  if (later != nullptr && is_gone) {
    loader_->Post(name, UnloadJob(name, [this, name, later, done = std::move(done)](const absl::Status& status) {
                    EndLoad(name);
                    later(status);
                    done(status);
                  }));
    return;
  }
  if (later != nullptr) {
    loader_->Post(name,
                  LoadJob(name, {}, /*announced=*/true, [later, done = std::move(done)](const absl::Status& status) {
                    later(status);
                    done(status);
                  }));
    return;
  }
  if (is_gone) {
    loader_->Post(name, UnloadJob(name, std::move(done)));
    return;
  }
  loader_->Post(name, LoadJob(name, {.config = {}, .keep_unchanged = true, .fetch = Fetch::kNo},
                              models_.BeginLoad(name), std::move(done)));
}

std::function<void()> Repository::LoadJob(const std::string& name, LoadRequest request, bool announced, Done done) {
  return [this, name, announced, request = std::move(request), done = std::move(done)]() mutable {
    const auto again = [&] { return LoadJob(name, request, announced, done); };
    if (WaitBehind(name, again)) return;
    ForgetFailed(name);
    auto folder = FetchFolder(name, request);
    absl::Status status;
    if (stop_.stop_requested()) {
      if (announced) models_.EndLoad(name);
      status = ShuttingDown();
    } else if (announced || models_.Announce(name, folder.status())) {
      announced = true;
      const auto waits = AwaitSteps(folder, name, request, again);
      if (waits.ok() && *waits) return;
      status = waits.status();
      if (!status.ok()) FailModel(name, status);
      if (status.ok()) status = LoadOrFail(folder, name, request);
      KeepFailed(name, folder, request, status);
    } else {
      status = folder.status();
    }
    // The files of a load that failed are gone when that is known.
    const bool of_client = std::exchange(request.files, nullptr) != nullptr;
    if (of_client && !status.ok()) NoteGone(name);
    changed_();
    ModelChanged(name);
    done(std::move(status));
  };
}

std::function<void()> Repository::UnloadJob(const std::string& name, Done done, Dependents dependents) {
  return [this, name, done = std::move(done), dependents] {
    if (WaitBehind(name, [&] { return UnloadJob(name, done, dependents); })) return;
    const std::set<std::string> steps = dependents == Dependents::kToo ? StepsOf(name) : std::set<std::string>();
    const bool of_client = models_.IsOfClient(name);
    absl::Status status = models_.Unload(name);
    if (absl::IsNotFound(status) && FindFolder(name).ok()) return done(absl::OkStatus());
    if (of_client) NoteGone(name);
    if (status.ok()) RepositoryLog().info("model {} is unloaded", name);
    ForgetFailed(name);
    changed_();
    ModelChanged(name);
    if (steps.empty() || !status.ok()) return done(std::move(status));
    UnloadDependents(steps, done);
  };
}

void Repository::Unload(const std::string& name, Done done, Dependents dependents) {
  if (absl::Status status = CheckControl(); !status.ok()) return done(status);
  if (!MayWait() || !loader_->TryPost(name, UnloadJob(name, done, dependents))) done(TooMany("too many loads wait"));
}

absl::StatusOr<fs::path> Repository::FindFolder(const std::string& name) const {
  std::vector<fs::path> found;
  std::error_code error;
  for (const fs::path& root : options_.roots) {
    if (fs::is_directory(root / name, error)) found.push_back(root / name);
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) return absl::NotFoundError(absl::StrCat("no model repository has a model '", name, "'"));
  return absl::FailedPreconditionError(absl::StrCat(
      "more than one model repository has a model '", name,
      "': ", absl::StrJoin(found, ", ", [](std::string* out, const fs::path& path) { *out += path.string(); })));
}

absl::StatusOr<fs::path> Repository::FolderOf(const std::string& name, const ServedSet::Version& version) const {
  if (!version.of_client) return FindFolder(name);
  if (const ClientFilesPtr files = version.files.lock()) return files->folder();
  return absl::FailedPreconditionError("it was loaded from files that came with a load, which are gone");
}

void Repository::NoteGone(const std::string& name) {
  std::vector<std::string> oldest;
  {
    std::lock_guard lock(mutex_);
    std::erase(gone_, name);
    gone_.push_back(name);
    while (gone_.size() > kMostGoneOfClients) {
      oldest.push_back(std::move(gone_.front()));
      gone_.pop_front();
    }
  }
  for (const std::string& each : oldest) {
    if (!absl::IsNotFound(FindFolder(each).status())) continue;
    ForgetFailed(each);
    models_.Forget(each);
  }
}

absl::StatusOr<fs::path> Repository::FetchFolder(const std::string& name, LoadRequest& request) const {
  if (request.files != nullptr) return request.files->folder();
  const Fetch fetch = std::exchange(request.fetch, Fetch::kNo);
  if (options_.fetch == nullptr || fetch == Fetch::kNo || stop_.stop_requested()) return FindFolder(name);
  const absl::Status fetched = options_.fetch(name, stop_.get_token());
  if (!fetched.ok() && fetch == Fetch::kMust) return fetched;
  auto folder = FindFolder(name);
  if (fetched.ok()) return folder;
  std::error_code error;
  if (!folder.ok() || fs::is_empty(*folder, error)) return fetched;
  RepositoryLog().warn("model {} is loaded as it was before: {}", name, std::string(fetched.message()));
  return folder;
}

absl::StatusOr<fs::path> Repository::Resolve(const fs::path& path) const {
  if (options_.links_may_lead_out) return path;
  return ResolveWithin(resolved_within_, path);
}

Repository::Pace Repository::PaceNow() const {
  return models_.started() && !models_.Serving().empty() ? Pace::kBackground : Pace::kFull;
}

absl::StatusOr<CheckedConfig> Repository::ReadConfig(const fs::path& folder) const {
  const auto lies_within = Resolve(folder / kConfigFile);
  if (!lies_within.ok()) return lies_within.status();
  return ReadModelConfig(folder);
}

void Repository::FailModel(const std::string& name, const absl::Status& status) {
  RepositoryLog().error("model {} failed to load: {}", name, std::string(status.message()));
  models_.Fail(name, status);
}

std::vector<IndexEntry> Repository::Index(bool ready_only) const {
  std::set<std::string> on_disk;
  if (!ready_only) {
    for (const fs::path& root : options_.roots) {
      if (auto found = ListModels(root); found.ok()) on_disk.insert(found->begin(), found->end());
    }
  }
  std::vector<IndexEntry> index = models_.Index(std::move(on_disk), ready_only);
  const auto lacking = LackingSteps();
  for (IndexEntry& entry : index) {
    const auto why = lacking.find({entry.name, entry.version});
    if (why == lacking.end() || entry.state != ModelState::kReady) continue;
    entry.state = ModelState::kUnavailable;
    entry.reason = why->second;
  }
  if (ready_only) std::erase_if(index, [](const IndexEntry& entry) { return entry.state != ModelState::kReady; });
  return index;
}

}  // namespace hearth::server
