// The models that the server has: found on disk, loaded, swapped, dropped.
//
// A load takes every version that the model's policy chooses, beside the versions that serve, and then swaps the whole
// set in one step: a request sees the old set or the new one. Where a version fails to load, its predecessor of the
// same number goes on serving, and so do versions that were not chosen; why it failed is kept for the index. Old
// versions live on until their last request ends.
//
// Choose is what a request calls: it takes a shared lock for the time of two look-ups. Loads and unloads run on the
// repository's own threads, in the order given for each model; a version's warm-up too, before it is swapped in. All
// methods are thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <shared_mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jit/runtime.h"
#include "server/repository/keyed_executor.h"
#include "server/repository/model_config.h"
#include "server/repository/servable.h"
#include "server/repository/served_set.h"
#include "server/repository/version_routing.h"

namespace hearth::server {

enum class ModelState { kUnknown, kReady, kUnavailable, kLoading, kUnloading };
// Triton's word for it: "READY", ...; empty for kUnknown.
const char* ModelStateName(ModelState state);

struct IndexEntry {
  std::string name;
  std::string version;  // empty where none is known
  ModelState state = ModelState::kUnknown;
  std::string reason;
};

struct VersionStatus {
  std::string name;
  std::string version;                                // empty where none is known
  ServablePtr serving;                                // null if it does not serve
  std::shared_ptr<const ModelStatistics> statistics;  // null where no version is known
  ModelState state = ModelState::kUnknown;
  std::string reason;  // why the latest load failed; empty if it did not
};

// Loads and unloads that clients asked for and that wait.
inline constexpr size_t kMostWaitingOfModel = 16;
inline constexpr size_t kMostWaiting = 256;
// Memory of the configurations that came with loads which wait or are under way.
inline constexpr int64_t kMostWaitingConfigBytes = int64_t{64} << 20;

// Why loads are refused.
absl::Status ShuttingDown();
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
  };
  using Done = std::function<void(absl::Status)>;

  // `runtime` outlives the repository. `changed` is called after each change of what is ready, from loading threads.
  Repository(Options options, Runtime& runtime, CallInterfaceFactory factory, std::function<void()> changed);
  // Waits for the loads that were asked for, then drops every model.
  ~Repository();

  // Loads the models of the start; `done` is called when each has been loaded or has failed. kNotFound, at once, if a
  // root cannot be read; kInvalidArgument for a name that no model can have.
  // Those that are `later` are loaded when Refresh is called for them.
  absl::Status LoadAll(std::function<void()> done, const std::set<std::string>& later = {});
  // `config_json` takes the place of config.pbtxt. `done` is called from a loading thread, with OK if every chosen
  // version serves; or before Load returns, with kResourceExhausted if too many loads wait, kInvalidArgument for a name
  // that no model can have, kUnavailable if clients may not load (ModelControl).
  void Load(const std::string& name, std::optional<std::string> config_json, Done done);
  // Ends the loads that are under way and those that wait, as kUnavailable, and refuses others: for a server that ends.
  // Does not wait for them.
  void StopLoading();
  // Stops serving a model: what is in flight ends in peace. kNotFound if it is not loaded, kResourceExhausted and
  // kUnavailable as Load.
  void Unload(const std::string& name, Done done);

  // Has the versions serve again that served before those that do now, with their configuration; or `version` alone, if
  // it is above 0, which every label then names. What is still in memory serves at once, all else is loaded. Lasts
  // until the model is loaded. `done` as Load's; kFailedPrecondition where nothing served before, or its archive is
  // another now. Nothing changes then. Also for clients that may not load, but for ModelControl::kNone.
  void RollBack(const std::string& name, int64_t version, Done done);

  // For who watches the roots: loads what is on disk as Load does, but keeps versions whose archive and configuration
  // are as they were when they were loaded; or unloads a model whose folder is gone. `done` is called from a loading
  // thread.
  void Refresh(const std::string& name, Done done);

  // The version named by its number or label. If `version` is empty: the one that the model's traffic split gives most
  // requests, or without a split the highest, of those that serve. kNotFound for a model, version or label that is not
  // known, kUnavailable for one that is loading, was unloaded or failed (with the reason), and for any before LoadAll
  // has looked; kInvalidArgument for a version that is neither in form.
  absl::StatusOr<ServablePtr> Find(const std::string& name, const std::string& version) const;
  // The same for a request that is to be counted by the traffic split.
  absl::StatusOr<ServablePtr> Choose(const std::string& name, const std::string& version) const;
  // Versions of a model that serve, ascending; empty if none does.
  std::vector<int64_t> ServedVersions(const std::string& name) const;
  std::vector<ServablePtr> Serving() const;
  // Every version that serves or should: the chosen ones, whether they are loading, failed or were unloaded, and models
  // of which no version is known. Reads no directories.
  std::vector<VersionStatus> Versions() const;

  // Every model and version that is known or lies on disk, sorted. Reads the roots' directories.
  std::vector<IndexEntry> Index(bool ready_only) const;
  // Whether LoadAll has ended and each model serves, was unloaded, or has not failed.
  bool AllReady() const;
  // "m version 2: why" of each load that failed and was not followed by one that did not.
  std::vector<std::string> Failures() const;
  // Whether LoadAll has ended.
  bool started() const;
  // Whether some model of that name was found on disk or loaded.
  bool Knows(const std::string& name) const;
  std::vector<std::string> KnownModels() const;

 private:
  struct Version {
    ServablePtr serving;                 // null if it does not serve
    std::weak_ptr<const Servable> last;  // the one that drains after an unload
    std::string failure;                 // why the latest load failed; empty if it did not
    std::shared_ptr<ModelStatistics> statistics;
    std::shared_ptr<ObservedCalls> observed;  // of what serves, or served last; may be null
    bool chosen = false;                      // by the version policy, when the model was last loaded
  };
  struct Entry {
    std::map<int64_t, Version> versions;
    std::string failure;  // why the model as a whole failed
    int loading = 0;      // loads asked for and not ended
    bool unloaded = false;
    std::string note;    // what the index says of versions that serve; mostly empty
    ServedSet previous;  // before the last swap that made a difference
    VersionRouting routing;
    std::vector<int64_t> turns;  // of the versions in the traffic split that serve (TurnsOf)
    mutable std::atomic<uint64_t> turn{0};
  };

  struct LoadRequest {
    std::optional<absl::StatusOr<CheckedConfig>> config;  // nothing: config.pbtxt
    bool keep_unchanged = false;                          // versions that serve and whose files are the same
  };

  // What a loading thread does. `announced`: whether the model's entry counts the load already (BeginLoad).
  std::function<void()> LoadJob(const std::string& name, LoadRequest request, bool announced, Done done);
  std::function<void()> UnloadJob(const std::string& name, Done done);
  // OK if clients may load and unload.
  absl::Status CheckControl() const;
  // The names of the start.
  absl::StatusOr<std::set<std::string>> ModelsOfStart() const;
  // Counts a load of a model that is known, and says whether it is.
  bool BeginLoad(const std::string& name);
  void EndLoad(const std::string& name);
  // Of a model of the start that waits: what to call when it has been loaded. Null of any other.
  Done TakeLater(const std::string& name);
  // Makes an entry for a load of a model that was not known. Not if it is nowhere on disk (`found`): clients may ask
  // for any number of names.
  bool Announce(const std::string& name, const absl::Status& found);
  // LoadFrom, whose exceptions fail the load.
  absl::Status LoadOrFail(const absl::StatusOr<std::filesystem::path>& folder, const std::string& name,
                          const LoadRequest& request);
  absl::Status LoadFrom(const absl::StatusOr<std::filesystem::path>& folder, const std::string& name,
                        const LoadRequest& request);
  absl::Status UnloadNow(const std::string& name);
  absl::Status RollBackNow(const std::string& name, int64_t version);
  absl::StatusOr<ServedSet> RollbackTarget(const std::string& name, int64_t version) const;
  absl::StatusOr<ServablePtr> Restore(const std::string& name, int64_t version, const ServedSet::Version& wanted);
  absl::StatusOr<std::filesystem::path> FindFolder(const std::string& name) const;
  // Where a file of a model really lies. kFailedPrecondition if that is not in a root and has to be.
  absl::StatusOr<std::filesystem::path> Resolve(const std::filesystem::path& path) const;
  absl::StatusOr<CheckedConfig> ReadConfig(const std::filesystem::path& folder) const;
  absl::StatusOr<ServablePtr> LoadVersion(const std::filesystem::path& folder, int64_t version,
                                          const inference::ModelConfig& config,
                                          std::shared_ptr<ModelStatistics> statistics);
  // The version that serves, if it was loaded from an archive and a configuration that are the same now; else null.
  ServablePtr Unchanged(const std::filesystem::path& folder, int64_t version,
                        const inference::ModelConfig& config) const;
  // What is served now in place of that version, or instead of it; null: nothing.
  ServablePtr PredecessorOf(const std::string& name, int64_t version) const;
  std::shared_ptr<ModelStatistics> StatisticsOf(const std::string& name, int64_t version);
  void SetChosen(const std::string& name, int64_t version);
  // What calls of the version that serves or served last showed; may be null.
  std::shared_ptr<ObservedCalls> ObservedBefore(const std::string& name, int64_t version) const;
  void FailModel(const std::string& name, const absl::Status& status);
  void Swap(const std::string& name, VersionRouting routing,
            const std::map<int64_t, absl::StatusOr<ServablePtr>>& loaded, std::string note);
  // Under the lock.
  static ServedSet ServedOf(const Entry& entry);
  // Under the lock: what of its traffic split serves takes turns.
  static void TakeTurns(const std::string& name, Entry& entry);
  // Under the lock. Of a version that does not serve and is to take some requests: who takes them; else empty.
  static std::string SplitNote(const Entry& entry, int64_t version);
  // Under the lock. `number` is 0 where `version` is empty.
  static absl::StatusOr<ServablePtr> FindServing(const std::string& name, const Entry& entry,
                                                 const std::string& version, int64_t number);
  static ModelState StateOf(const Entry& entry, int64_t number, const Version& version);

  const Options options_;
  Runtime& runtime_;
  const CallInterfaceFactory factory_;
  const std::function<void()> changed_;

  mutable std::shared_mutex mutex_;
  std::map<std::string, Entry> entries_;
  std::map<std::string, Done> later_;  // models of the start that wait for Refresh, which count as loading
  bool looked_ = false;                // for the models of the start
  bool started_ = false;

  std::stop_source stop_;  // of all loads

  // Of kMostWaitingConfigBytes.
  const std::shared_ptr<std::atomic<int64_t>> waiting_config_bytes_ = std::make_shared<std::atomic<int64_t>>(0);

  // Last, so that it is joined before what its jobs use goes.
  std::unique_ptr<KeyedExecutor> loader_;
};

}  // namespace hearth::server
