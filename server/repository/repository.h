// The models that the server has: found on disk, loaded, swapped, dropped.
//
// A load takes every version that the model's policy chooses, beside the versions that serve, and then swaps the whole
// set in one step: a request sees the old set or the new one. Where a version fails to load, its predecessor of the
// same number goes on serving, and so do versions that were not chosen; why it failed is kept for the index. Old
// versions live on until their last request ends.
//
// The versions' memory is within a budget. Models that nobody uses may be unloaded, because of the time or to make room
// for others, and are loaded again when they are asked for (LoadIdle).
//
// A model may be an ensemble, made of others (ensembles.cpp): it is loaded when its steps' models are, is ready while
// they are there, and is loaded again when a model comes for want of which it could not be.
//
// Which version answers a request is ModelTable's matter (model_table.h); this is who loads them. Loads and unloads run
// on the repository's own threads, in the order given for each model; a version's warm-up too, before it is swapped in.
// Once the server has started, what takes long of them gives way to requests (Pace).
// All methods are thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jit/runtime.h"
#include "server/repository/client_files.h"
#include "server/repository/data_files.h"
#include "server/repository/ensemble_model.h"
#include "server/repository/keyed_executor.h"
#include "server/repository/memory_budget.h"
#include "server/repository/model_config.h"
#include "server/repository/model_table.h"
#include "server/repository/reminder.h"
#include "server/repository/servable.h"
#include "server/repository/served_set.h"
#include "server/repository/shadow_traffic.h"

namespace hearth::server {

// Loads and unloads that clients asked for and that wait.
inline constexpr size_t kMostWaitingOfModel = 16;
inline constexpr size_t kMostWaiting = 256;
// Memory of the configurations that came with loads which wait or are under way.
inline constexpr int64_t kMostWaitingConfigBytes = int64_t{64} << 20;

// Models that only clients had files of, and that do not serve any more or never did, of which the index still tells.
inline constexpr size_t kMostGoneOfClients = 256;

// Requests that wait for one model to be loaded again.
inline constexpr size_t kMostWaitingForLoad = 1024;

// Why loads are refused, beside ShuttingDown.
absl::Status TooMany(const char* what);

// Which models are loaded, and when.
enum class ModelControl {
  kAll,       // all at the start; clients load and unload
  kNone,      // all at the start; nothing after that
  kPoll,      // all at the start, and what changes on disk (RepositoryPoller)
  kExplicit,  // those of Options::load_models at the start; clients load and unload
};

class Repository {
 public:
  struct Options {
    std::vector<std::filesystem::path> roots;
    // Brings the files of a model into its root, where they lie elsewhere (storage/mirror.h); null where they do not.
    std::function<absl::Status(const std::string& model, const std::stop_token& stop)> fetch = nullptr;
    // Where files are that come with loads; null: such loads are refused.
    std::shared_ptr<ClientFilesStore> client_files = nullptr;
    int load_threads = 2;
    // Whether libraries that a model's configuration names (model_operations) are loaded from its folder.
    bool model_operator_libraries = false;
    // Whether links in a root may lead out of all roots.
    bool links_may_lead_out = false;
    // What a version's warm-up may take, and what is compiled for it; 0: no limit.
    std::chrono::duration<double> warmup_time{60};
    // Whether a version that takes the place of one is run with what that one is called with before it serves.
    bool warm_live_shapes = true;
    // Bytes that the tensors of a warm-up sample may take; 0: no limit.
    int64_t load_memory_limit = 0;
    ModelControl control = ModelControl::kAll;
    std::vector<std::string> load_models = {};  // of kExplicit; {"*"} is all
    // What all versions' weights, code and plans may hold for a load to begin.
    MemoryBudget::Limits memory_budget = {};
    // Whether the least recently used models are unloaded where that makes room for what is to be loaded.
    bool unload_idle_models = false;
    // How long a load then waits for requests and whoever else uses models to let go of them.
    std::chrono::milliseconds room_wait{2'000};
    // After a load of an idle model has failed, no request has it loaded for that long.
    std::chrono::milliseconds rest_after_failure{10'000};
  };
  // How often that happened.
  struct IdleCounts {
    std::atomic<uint64_t> unloaded_for_time{0};
    std::atomic<uint64_t> unloaded_for_room{0};
    std::atomic<uint64_t> loaded_again{0};
  };
  using Done = std::function<void(absl::Status)>;

  // `runtime` outlives the repository. `changed` is called after each change of what is ready, from loading threads.
  Repository(Options options, Runtime& runtime, CallInterfaceFactory factory, std::function<void()> changed);
  // Waits for the loads that were asked for, then drops every model.
  ~Repository();
  // Who makes ensembles; without it, none can be loaded. Before LoadAll.
  void ServeEnsembles(EnsembleFactory factory) { ensemble_factory_ = std::move(factory); }

  // Loads the models of the start; `done` is called when each has been loaded or has failed. kNotFound, at once, if a
  // root cannot be read; kInvalidArgument for a name that no model can have.
  // Those that are `later` are loaded when Refresh is called for them.
  absl::Status LoadAll(std::function<void()> done, const std::set<std::string>& later = {});
  // `config_json` takes the place of config.pbtxt. `done` is called from a loading thread, with OK if every chosen
  // version serves; or before Load returns, with kResourceExhausted if too many loads wait, kInvalidArgument for a name
  // that no model can have, kUnavailable if clients may not load (ModelControl). `shadow`, for this load: what is no
  // such parameter is kInvalidArgument.
  // With `files`, the model is loaded from these alone, with that configuration, which must be given; whether a root
  // has such a model does not matter. They stay for as long as what was loaded from them serves, is idle or is kept for
  // a rollback. kFailedPrecondition if this server takes none, kInvalidArgument and kResourceExhausted as
  // client_files.h has them.
  void Load(const std::string& name, std::optional<std::string> config_json, Done done, ShadowOverrides shadow = {},
            const FileContents& files = {});
  bool takes_client_files() const { return options_.client_files != nullptr; }
  // Ends the loads that are under way and those that wait, as kUnavailable, and refuses others: for a server that ends.
  // Does not wait for them; but who waits for an idle model (LoadIdle) has been answered when this returns.
  void StopLoading();
  // Waits for the loads that were asked for; none may be asked for after that.
  void FinishLoading() { loader_->Finish(); }
  // Stops serving a model: what is in flight ends in peace. One that was never loaded stays so; kNotFound if there is
  // none of that name, kResourceExhausted and kUnavailable as Load. With its dependents, which is what Triton calls the
  // models of an ensemble's steps: those that are a step of no other ensemble are unloaded, too.
  enum class Dependents : uint8_t { kStay, kToo };
  void Unload(const std::string& name, Done done, Dependents dependents = Dependents::kStay);

  // Has the versions serve again that served before those that do now, with their configuration; or `version` alone, if
  // it is above 0, which every label then names. What is still in memory serves at once, all else is loaded. Lasts
  // until the model is loaded. `done` as Load's; kFailedPrecondition where nothing served before, or its archive is
  // another now. Nothing changes then. Also for clients that may not load, but for ModelControl::kNone.
  void RollBack(const std::string& name, int64_t version, Done done);

  // Unloads the models that have been unused for so long, until they are asked for. Says how many they were.
  int UnloadIdle(std::chrono::duration<double> at_least);
  // Has a model that is idle serve again as it did; of those who ask meanwhile the first is enough. `done` is called
  // from a loading thread, with OK also if the model is not idle any more; before this returns, with
  // kResourceExhausted, if too many wait for it, and kUnavailable, if the server ends; and not at all where `who` is
  // gone, who does not count among those who wait then.
  void LoadIdle(const std::string& name, std::weak_ptr<const void> who, Done done);
  const IdleCounts& idle_counts() const { return idle_counts_; }
  const MemoryBudget& budget() const { return budget_; }

  // For who watches the roots: loads what is on disk as Load does, but keeps versions whose archive and configuration
  // are as they were when they were loaded; or unloads a model whose folder is gone. `done` is called from a loading
  // thread.
  void Refresh(const std::string& name, Done done);

  // Every model and version that is known or lies on disk, sorted. Reads the roots' directories.
  std::vector<IndexEntry> Index(bool ready_only) const;

  // See ModelTable.
  absl::StatusOr<ServablePtr> Find(const std::string& name, const std::string& version) const {
    return models_.Find(name, version);
  }
  absl::StatusOr<ServablePtr> Choose(const std::string& name, const std::string& version) const {
    return models_.Choose(name, version);
  }
  // OK if a request for it is answered, which may load the model again first; else Find's status, or kUnavailable for
  // an ensemble with the step that is not there.
  absl::Status CheckReady(const std::string& name, const std::string& version) const;
  std::vector<int64_t> ServedVersions(const std::string& name) const { return models_.ServedVersions(name); }
  std::vector<ServablePtr> Serving() const { return models_.Serving(); }
  // Ensembles of which a step is not there are unavailable, and serve all the same: who asks them hears why.
  std::vector<VersionStatus> Versions() const;
  bool AllReady() const { return models_.AllReady(); }
  std::vector<std::string> Failures() const { return models_.Failures(); }
  bool started() const { return models_.started(); }
  bool Knows(const std::string& name) const { return models_.Knows(name); }
  std::vector<std::string> KnownModels() const { return models_.KnownModels(); }

 private:
  struct Waiter {
    std::weak_ptr<const void> who;
    Done done;
  };
  // Whether a load has Options::fetch called first, and what it is without: what was there before is loaded, or
  // nothing.
  enum class Fetch : uint8_t { kNo, kTry, kMust };
  struct LoadRequest {
    std::optional<absl::StatusOr<CheckedConfig>> config;  // nothing: config.pbtxt
    bool keep_unchanged = false;                          // versions that serve and whose files are the same
    bool loads_steps = false;                             // models of an ensemble's steps that are not there
    std::shared_ptr<const void> room = nullptr;           // of kMostWaitingConfigBytes, for the configuration
    ShadowOverrides shadow = {};
    Fetch fetch = Fetch::kTry;
    ClientFilesPtr files = nullptr;  // in place of the model's folder; null: that
  };
  // A load or unload of an ensemble, or one that came after it, that waits for the loads of its steps' models.
  struct WaitingJob {
    std::string name;
    std::set<std::string> models;
    std::function<void()> job;
  };
  // An ensemble that could not be loaded, and how it was to be.
  struct FailedEnsemble {
    std::set<std::string> models;
    LoadRequest request;
  };

  // How a version is loaded: at once, or behind the requests to the models that serve, on few threads of low priority.
  enum class Pace : uint8_t { kFull, kBackground };
  // Of a load that no request waits for. Full while the server starts, and where nothing serves.
  Pace PaceNow() const;

  // What a loading thread does. `announced`: whether the model's entry counts the load already (BeginLoad).
  std::function<void()> LoadJob(const std::string& name, LoadRequest request, bool announced, Done done);
  std::function<void()> UnloadJob(const std::string& name, Done done, Dependents dependents = Dependents::kStay);
  // Has the job wait behind those of the model that wait already; false where none does.
  bool WaitBehind(const std::string& name, const std::function<std::function<void()>()>& job);
  // Where an ensemble's steps' models are being loaded, or had better be: has the job wait for that. False where
  // nothing is to be waited for, kInvalidArgument where it would be waited for for ever.
  absl::StatusOr<bool> AwaitSteps(const absl::StatusOr<std::filesystem::path>& folder, const std::string& name,
                                  LoadRequest& request, const std::function<std::function<void()>()>& job);
  void LoadStep(const std::string& model);
  // The jobs that wait for nothing any more, of each model in their order.
  std::map<std::string, std::vector<std::function<void()>>> TakeWaiting(const std::string& model);
  // Whether another job may wait.
  bool MayWait();
  // Keeps an ensemble's load that failed for when a step's model changes.
  void KeepFailed(const std::string& name, const absl::StatusOr<std::filesystem::path>& folder,
                  const LoadRequest& request, const absl::Status& status);
  void ForgetFailed(const std::string& name);
  // What a model is now may be what ensembles waited for: after each load that has ended, however it did.
  void ModelChanged(const std::string& model);
  // Of a model that a client brought, and that does not serve: clients may bring any number of names, so the oldest are
  // forgotten unless a root has them.
  void NoteGone(const std::string& name);
  // ModelTable's, of a load that changes nothing.
  void EndLoad(const std::string& name);
  // The models of the steps of what serves.
  std::set<std::string> StepsOf(const std::string& name) const;
  void UnloadDependents(const std::set<std::string>& models, Done done);
  // Of each version that serves and lacks a step: why, by name and version.
  std::map<std::pair<std::string, std::string>, std::string> LackingSteps() const;
  absl::StatusOr<std::shared_ptr<Servable>> LoadEnsemble(const std::filesystem::path& folder, int64_t version,
                                                         const inference::ModelConfig& config, std::string stamp,
                                                         std::shared_ptr<ModelStatistics> statistics);
  // OK if there are none, or if this server takes them.
  absl::Status CheckFiles(const FileContents& files, bool has_config) const;
  // OK if clients may load and unload.
  absl::Status CheckControl() const;
  // The names of the start.
  absl::StatusOr<std::set<std::string>> ModelsOfStart() const;
  // Of a model of the start that waits: what to call when it has been loaded. Null of any other.
  Done TakeLater(const std::string& name);
  // LoadFrom, whose exceptions fail the load.
  absl::Status LoadOrFail(const absl::StatusOr<std::filesystem::path>& folder, const std::string& name,
                          const LoadRequest& request);
  absl::Status LoadFrom(const absl::StatusOr<std::filesystem::path>& folder, const std::string& name,
                        const LoadRequest& request);
  std::function<void()> RollBackJob(const std::string& name, int64_t version, Done done);
  absl::Status RollBackNow(const std::string& name, int64_t version);
  absl::StatusOr<ServablePtr> Restore(const std::string& name, int64_t version, const ServedSet::Version& wanted);
  absl::StatusOr<std::filesystem::path> FindFolder(const std::string& name) const;
  // Where the version's files are.
  absl::StatusOr<std::filesystem::path> FolderOf(const std::string& name, const ServedSet::Version& version) const;
  // The folder of the request's files; else FindFolder, once its files are what they are elsewhere. Asked for the
  // second time, the request has been served.
  absl::StatusOr<std::filesystem::path> FetchFolder(const std::string& name, LoadRequest& request) const;
  // Where a file of a model really lies. kFailedPrecondition if that is not in a root and has to be.
  absl::StatusOr<std::filesystem::path> Resolve(const std::filesystem::path& path) const;
  absl::StatusOr<Labels> LabelsOf(const std::filesystem::path& folder, const inference::ModelConfig& config) const;
  // Of a model's folder, one of kDataFolders.
  DataFiles FilesIn(const std::filesystem::path& model, const char* folder) const;
  absl::StatusOr<CheckedConfig> ReadConfig(const std::filesystem::path& folder) const;
  // What a version's settings and configuration say of its load; `files` as for LoadVersion, `what` for the log.
  absl::StatusOr<LoadOptions> OptionsOf(const std::filesystem::path& folder, const ClientFilesPtr& files,
                                        const ModelSettings& settings, const inference::ModelConfig& config,
                                        const std::string& what) const;
  // `files` if the folder is theirs.
  absl::StatusOr<std::shared_ptr<Servable>> LoadVersion(const std::filesystem::path& folder,
                                                        const ClientFilesPtr& files, int64_t version,
                                                        const inference::ModelConfig& config,
                                                        std::shared_ptr<ModelStatistics> statistics, Pace pace);
  // What was loaded has shadow traffic, if its configuration asks for it and another version serves: as it was
  // loaded, with a note; or why it is refused.
  absl::StatusOr<ServablePtr> Compared(absl::StatusOr<std::shared_ptr<Servable>> loaded, const ShadowOverrides& asked);
  // The version that serves, if it was loaded from an archive and a configuration that are the same now, with the
  // labels that lie there; else null.
  ServablePtr Unchanged(const std::filesystem::path& folder, int64_t version,
                        const inference::ModelConfig& config) const;
  // Has unused models unloaded until so much more fits into the budget. False where that cannot be.
  bool MakeRoom(const std::string& name, int64_t version, const MemoryUse& use);
  bool UnloadUnused(const std::string& name, ModelTable::Clock::duration at_least, const std::string& reason,
                    std::atomic<uint64_t>& count);
  // MemoryBudget's Take and Settle, for which room is made where it can be, also by waiting: for as long as others are
  // being loaded, and may be unloaded then, and a while longer. Settle waits for that while alone.
  absl::StatusOr<MemoryBudget::SharePtr> TakeMemory(const std::string& name, int64_t version,
                                                    const MemoryUse& estimate);
  // What a version holds of which nothing but its archive's size is known.
  MemoryUse EstimateOf(uint64_t archive_bytes, const LoadOptions& options) const;
  absl::Status SettleMemory(MemoryBudget::Share& share, const Servable& servable);
  absl::Status LoadIdleNow(const std::string& name);
  void FailModel(const std::string& name, const absl::Status& status);

  const Options options_;
  const std::vector<std::filesystem::path> resolved_within_;  // the roots, and where files of clients are
  Runtime& runtime_;
  const CallInterfaceFactory factory_;
  const std::function<void()> changed_;
  EnsembleFactory ensemble_factory_;

  MemoryBudget budget_;
  IdleCounts idle_counts_;
  std::atomic<int> loads_with_memory_{0};  // those that have room, and have not ended
  ModelTable models_;
  Reminder reminder_;  // that models which rest do so no more

  std::mutex mutex_;
  std::map<std::string, std::vector<Waiter>> waiting_for_load_;  // of each idle model that is being loaded again
  std::map<std::string, Done> later_;  // models of the start that wait for Refresh, which count as loading
  std::vector<WaitingJob> waiting_jobs_;
  std::map<std::string, FailedEnsemble> failed_ensembles_;
  std::deque<std::string> gone_;  // see NoteGone

  std::stop_source stop_;  // of all loads

  // Of kMostWaitingConfigBytes.
  const std::shared_ptr<std::atomic<int64_t>> waiting_config_bytes_ = std::make_shared<std::atomic<int64_t>>(0);

  // Last, so that it is joined before what its jobs use goes.
  std::unique_ptr<KeyedExecutor> loader_;
};

}  // namespace hearth::server
