#include "server/repository/repository.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <future>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/support/background_thread.h"
#include "jit/support/cpu_allocator.h"
#include "server/repository/ensemble_graph.h"
#include "server/repository/file_stamp.h"
#include "server/repository/layout.h"
#include "server/repository/repository_log.h"
#include "server/repository/sequence_settings.h"
#include "server/repository/signature_difference.h"
#include "server/repository/version_policy.h"
#include "server/repository/warm_up.h"

namespace hearth::server {
namespace fs = std::filesystem;
namespace {

// What the index says of a version that no repository has.
constexpr const char* kOfClientNote = "loaded from files that came with the load";

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

absl::StatusOr<CheckedConfig> ReadRequested(const std::string& json, const std::string& model) {
  auto config = ParseModelConfigJson(json);
  if (!config.ok()) return config.status();
  return CheckModelConfig(*std::move(config), model);
}

// In memory.
int64_t SizeOf(const std::optional<absl::StatusOr<CheckedConfig>>& config) {
  return config.has_value() && config->ok() ? static_cast<int64_t>((*config)->config.SpaceUsedLong()) : 0;
}

// In what a version differs from the one in service, as it is logged; empty: in nothing.
std::string NoteDifferences(const Servable& before, const Servable& now) {
  const auto differences = SignatureDifferences(*before.model, before.config, *now.model, now.config);
  if (differences.empty()) return "";
  std::string note =
      absl::StrCat("differs from version ", before.version, " before it: ", absl::StrJoin(differences, "; "));
  RepositoryLog().warn("{} version {} {}", now.name, now.version, note);
  return note;
}

// An ensemble has no archive, so that it needs no folder for its only version.
std::vector<int64_t> VersionsOf(const fs::path& folder, const inference::ModelConfig& config) {
  std::vector<int64_t> versions = ListVersions(folder);
  if (versions.empty() && IsEnsemble(config)) versions.push_back(1);
  return versions;
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

// What `work` gives. In the background it runs on a thread of its own: this one, which takes locks that requests take
// too, keeps its priority.
template <typename Work>
auto AtPriority(bool in_background, const Work& work) {
  if (!in_background) return work();
  return std::async(std::launch::async,
                    [&] {
                      TakeLowPriority();
                      return work();
                    })
      .get();
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

absl::Status Repository::LoadOrFail(const absl::StatusOr<fs::path>& folder, const std::string& name,
                                    const LoadRequest& request) try {
  return LoadFrom(folder, name, request);
} catch (const std::exception& error) {
  // No room for what is small, a folder that cannot be read: of this load alone.
  const absl::Status status = absl::InternalError(absl::StrCat("loading '", name, "': ", error.what()));
  FailModel(name, status);
  return status;
}

absl::Status Repository::LoadFrom(const absl::StatusOr<fs::path>& folder, const std::string& name,
                                  const LoadRequest& request) {
  absl::Status status;
  std::map<int64_t, absl::StatusOr<ServablePtr>> loaded;
  auto checked = [&]() -> absl::StatusOr<CheckedConfig> {
    if (!folder.ok()) return folder.status();
    return request.config.has_value() ? *request.config : ReadConfig(*folder);
  }();
  auto versions = checked.ok() ? ChooseVersions(checked->config.version_policy(), VersionsOf(*folder, checked->config))
                               : absl::StatusOr<std::vector<int64_t>>(checked.status());
  auto routing = checked.ok() ? RoutingOf(checked->config) : checked.status();
  if (versions.ok()) status = routing.ok() ? CheckRouting(*routing, *versions) : routing.status();
  if (!versions.ok() || !status.ok()) {
    if (status.ok()) status = versions.status();
    FailModel(name, status);
    return status;
  }
  for (const std::string& warning : checked->warnings) {
    RepositoryLog().warn("model {}: its configuration sets {}, which has no effect here", name, warning);
  }
  for (int64_t version : *versions) {
    models_.SetChosen(name, version);
    if (ServablePtr same = request.keep_unchanged ? Unchanged(*folder, version, checked->config) : nullptr) {
      loaded.emplace(version, std::move(same));
      continue;
    }
    auto servable = Compared(
        LoadVersion(*folder, request.files, version, checked->config, models_.StatisticsOf(name, version), PaceNow()),
        request.shadow);
    if (!servable.ok() && status.ok()) {
      status = absl::Status(servable.status().code(),
                            absl::StrCat("version ", version, " of '", name, "': ", servable.status().message()));
    }
    loaded.emplace(version, std::move(servable));
  }
  models_.Swap(name, *std::move(routing), loaded, "");
  return status;
}

absl::StatusOr<Labels> Repository::LabelsOf(const fs::path& folder, const inference::ModelConfig& config) const {
  return ReadLabels(folder, config, [this](const fs::path& path) { return Resolve(path); });
}

DataFiles Repository::FilesIn(const fs::path& model, const char* folder) const {
  return {model, folder, [this](const fs::path& path) { return Resolve(path); }};
}

ServablePtr Repository::Unchanged(const fs::path& folder, int64_t version, const inference::ModelConfig& config) const {
  // They may have changed, too.
  if (HasInitialStateFiles(config)) return nullptr;
  const ServablePtr serving = models_.ServingVersion(config.name(), version);
  if (serving == nullptr ||
      serving->archive_stamp != FileStamp(ArchivePath(folder, version, config.default_model_filename())))
    return nullptr;
  auto labels = LabelsOf(folder, config);
  if (!labels.ok()) return nullptr;  // a load says what is wrong with them
  const bool is_same_config = google::protobuf::util::MessageDifferencer::Equals(serving->config, config);
  if (is_same_config && *labels == serving->labels) return serving;
  return is_same_config || ServeAlike(serving->config, config) ? WithConfig(*serving, config, *std::move(labels))
                                                               : nullptr;
}

absl::StatusOr<ServablePtr> Repository::Compared(absl::StatusOr<std::shared_ptr<Servable>> loaded,
                                                 const ShadowOverrides& asked) {
  if (!loaded.ok()) return loaded.status();
  Servable& version = **loaded;
  const auto settings = ShadowSettingsOf(version.config, asked);
  if (!settings.ok()) return settings.status();
  const ServablePtr before = models_.PredecessorOf(version.name, version.version);
  if (settings->requests == 0 || before == nullptr) return *std::move(loaded);
  auto note = CompareOnLiveRequests(*before, version, *settings, options_.load_memory_limit, stop_.get_token());
  if (!note.ok()) {
    *loaded = nullptr;
    ReturnFreedMemory();
    return stop_.stop_requested() ? ShuttingDown() : note.status();
  }
  if (!version.note.empty()) version.note += "; ";
  version.note += *note;
  return *std::move(loaded);
}

absl::StatusOr<std::shared_ptr<Servable>> Repository::LoadVersion(const fs::path& folder, const ClientFilesPtr& files,
                                                                  int64_t version, const inference::ModelConfig& config,
                                                                  std::shared_ptr<ModelStatistics> statistics,
                                                                  Pace pace) {
  const auto start = std::chrono::steady_clock::now();
  const fs::path named_archive = ArchivePath(folder, version, config.default_model_filename());
  // Before it is read: what is written into it from now on is another stamp.
  std::string stamp = FileStamp(named_archive);
  const std::string what = absl::StrCat(config.name(), " version ", version);
  auto fail = [&](const absl::Status& status) {
    if (stop_.stop_requested()) {
      RepositoryLog().info("{} is not loaded any further: the server is shutting down", what);
      return ShuttingDown();
    }
    // Each request for an idle model may find no room: that says who asks, and nothing was loaded.
    const bool no_room = MemoryBudget::IsNoRoom(status);
    if (no_room && models_.FindIdle(config.name())) return status;
    RepositoryLog().error("{} failed to load: {}", what, std::string(status.message()));
    if (!no_room) ReturnFreedMemory();
    return status;
  };
  if (stop_.stop_requested()) return fail(ShuttingDown());
  if (IsEnsemble(config)) {
    auto ensemble = LoadEnsemble(folder, version, config, std::move(stamp), std::move(statistics));
    if (!ensemble.ok()) return fail(ensemble.status());
    (*ensemble)->files = files;
    return ensemble;
  }
  std::error_code error;
  if (!fs::is_regular_file(named_archive, error)) {
    return fail(absl::NotFoundError(absl::StrCat("there is no file ", named_archive.string())));
  }
  const auto archive = Resolve(named_archive);
  if (!archive.ok()) return fail(archive.status());
  const auto settings = SettingsOf(config);
  if (!settings.ok()) return fail(settings.status());
  auto labels = LabelsOf(folder, config);
  if (!labels.ok()) return fail(labels.status());
  LoadOptions load_options;
  load_options.stop = stop_.get_token();
  const bool in_background = pace == Pace::kBackground;
  load_options.in_background = in_background;
  load_options.memory_limit = settings->memory_limit;
  load_options.memory_limit_of_model = settings->requests_memory_limit;
  if (settings->max_run_seconds) {
    load_options.run_time_limit =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(*settings->max_run_seconds));
  }
  load_options.compile_after = settings->compile_after;
  load_options.exact_after = settings->exact_after;
  load_options.max_plans = settings->max_plans;
  load_options.plan_bytes = settings->plan_bytes;
  load_options.gpus = GpusOf(config);
  if (!load_options.gpus.empty() && runtime_.gpus().empty()) {
    RepositoryLog().warn("{}: instance_group.gpus is ignored: this server's models are on the CPU", what);
    load_options.gpus.clear();
  }
  for (const std::string& library : config.model_operations().op_library_filename()) {
    if (!options_.model_operator_libraries) {
      RepositoryLog().warn("{}: its operator library {} is not loaded: the setting model_operator_libraries is off",
                           what, library);
      continue;
    }
    if (files != nullptr) {
      return fail(absl::InvalidArgumentError(
          absl::StrCat("its configuration names the operator library '", library,
                       "'; libraries are loaded from the repository alone, and its files came with the load")));
    }
    const auto file = Resolve(folder / library);
    if (!file.ok()) return fail(file.status());
    load_options.operator_libraries.push_back(fs::absolute(*file).string());
  }
  const uint64_t file_bytes = fs::file_size(*archive, error);
  if (error) return fail(absl::FailedPreconditionError(absl::StrCat(archive->string(), ": ", error.message())));
  const uint64_t estimate = std::max(file_bytes, models_.MeasuredBefore(config.name(), version, stamp));
  auto memory = TakeMemory(config.name(), version, estimate);
  if (!memory.ok()) return fail(memory.status());
  RepositoryLog().info("loading {} from {}", what, named_archive.string());
  const ServablePtr predecessor = models_.PredecessorOf(config.name(), version);
  if (predecessor != nullptr) load_options.predecessor = predecessor->model;
  auto model = runtime_.Load(archive->string(), load_options);
  load_options.predecessor = nullptr;
  if (!model.ok()) return fail(model.status());
  auto call_interface =
      AtPriority(in_background, [&] { return factory_(**model, config, FilesIn(folder, kInitialStateFolder)); });
  if (!call_interface.ok()) return fail(call_interface.status());

  auto servable = NewServable(version, config, *settings, runtime_.gpus().size());
  servable->archive_stamp = std::move(stamp);
  servable->files = files;
  servable->memory = *memory;
  servable->model = *std::move(model);
  servable->call_interface = *std::move(call_interface);
  if (config.has_sequence_batching() && servable->queue_settings.batches()) {
    const auto effect = servable->model->SideEffect("forward");
    if (effect.ok() && !effect->empty()) {
      RepositoryLog().info("{}: requests of its sequences are not run together: forward {}", what, *effect);
      servable->queue_settings.max_rows = 1;
    }
  }
  servable->call_interface->CompleteQueueSettings(servable->queue_settings);
  if (const std::string batching = servable->call_interface->batching(); !batching.empty())
    RepositoryLog().info("{}: batches of its requests: {}", what, batching);
  servable->labels = *std::move(labels);
  servable->statistics = std::move(statistics);
  servable->observed = servable->call_interface->ObservedAfter(models_.ObservedBefore(config.name(), version));
  servable->weight_bytes = servable->model->weight_bytes();
  if (files != nullptr) servable->note = kOfClientNote;
  if (predecessor != nullptr) {
    const std::string differences = NoteDifferences(*predecessor, *servable);
    if (!servable->note.empty() && !differences.empty()) servable->note += "; ";
    servable->note += differences;
  }
  std::vector<FrequentCall> frequent;
  if (predecessor != nullptr && options_.warm_live_shapes) {
    frequent = predecessor->model->frequent_calls(kMostFrequentCalls);
  }
  const auto warm_up_start = std::chrono::steady_clock::now();
  const DataFiles warmup_files = FilesIn(folder, kWarmupFolder);
  const WarmUpLimits limits{options_.warmup_time, options_.load_memory_limit, stop_.get_token(), in_background};
  const absl::Status warm =
      AtPriority(in_background, [&] { return WarmUp(*servable, warmup_files, frequent, limits); });
  if (!warm.ok()) return fail(warm);
  if (absl::Status fits = SettleMemory(**memory, *servable); !fits.ok()) return fail(fits);
  const auto end = std::chrono::steady_clock::now();
  servable->statistics->Loaded(end - start, end - warm_up_start);
  RepositoryLog().info("{} is loaded: {:.1f} MB of weights, {:.3f} s", what, double(servable->weight_bytes) / 1e6,
                       SecondsSince(start));
  return servable;
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
