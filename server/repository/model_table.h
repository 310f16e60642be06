// What is known of each model: its versions, which of them serve, why others do not, and which one answers a request
// that names a version, a label or neither.
//
// The repository's loads change it; a swap of a model's versions is one step: a request sees the old set or the new
// one. Choose is what a request calls: it takes a shared lock for the time of two look-ups.
//
// A model that nobody uses may be unloaded as idle. It is known what of it served, and requests find it to be idle
// (IsIdle), for whoever they ask to have it loaded again. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/repository/servable.h"
#include "server/repository/served_set.h"
#include "server/repository/version_routing.h"

namespace hearth::server {

// How a load ends that the server's end cuts short; that is no failure of the model.
absl::Status ShuttingDown();

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
  std::shared_ptr<const ModelStatistics> statistics;  // where no version is known: the model's, of its failed loads
  ModelState state = ModelState::kUnknown;
  std::string reason;  // why the latest load failed, or why it was unloaded as idle; else empty
  bool idle = false;   // unloaded, and loaded again when somebody asks for it
};

// Whether a status of Find or Choose says that the model was unloaded as idle, and is loaded again if asked for.
bool IsIdle(const absl::Status& status);

class ModelTable {
 public:
  using Clock = std::chrono::steady_clock;

  // After a load of an idle model has failed, requests are told so, and none has it loaded, for `rest`.
  explicit ModelTable(Clock::duration rest) : rest_(rest) {}

  // ---- For loads ----

  // Makes entries for the models of the start.
  void Know(const std::set<std::string>& names);
  // Whether of a model something serves or is idle; else whether it is being loaded.
  enum class Presence : uint8_t { kServes, kLoading, kAbsent };
  Presence PresenceOf(const std::string& name) const;
  // The models of the start have been loaded or have failed.
  void SetStarted();
  // Counts a load of a model that is known, and says whether it is.
  bool BeginLoad(const std::string& name);
  // The same for a load of a model that was not known: makes an entry for it. Not if it is nowhere on disk (`found`):
  // clients may ask for any number of names.
  bool Announce(const std::string& name, const absl::Status& found);
  void EndLoad(const std::string& name);

  // Makes the version known, if it is not.
  std::shared_ptr<ModelStatistics> StatisticsOf(const std::string& name, int64_t version);
  void SetChosen(const std::string& name, int64_t version);
  // What calls of the version that serves or served last showed; may be null.
  std::shared_ptr<ObservedCalls> ObservedBefore(const std::string& name, int64_t version) const;
  // What is served now in place of that version, or instead of it; null: nothing.
  ServablePtr PredecessorOf(const std::string& name, int64_t version) const;
  // What the version held when it was last loaded, of an archive with that stamp; nothing: it is not known.
  MemoryUse MeasuredBefore(const std::string& name, int64_t version, const std::string& stamp) const;
  // Null if it does not serve.
  ServablePtr ServingVersion(const std::string& name, int64_t version) const;
  // What a rollback has serve again: what served before, or that version alone if it is above 0. kNotFound for a model
  // that is not known, kFailedPrecondition where there is nothing to go back to.
  absl::StatusOr<ServedSet> RollbackTarget(const std::string& name, int64_t version) const;

  // The end of a load that failed as a whole: a failed load of each version that serves or should.
  void Fail(const std::string& name, const absl::Status& status);
  // The end of a load: what was loaded serves, and what was not chosen does not any more, unless a version failed. A
  // version that failed leaves the one of its number serving. `note` is what the index says of versions that serve.
  void Swap(const std::string& name, VersionRouting routing,
            const std::map<int64_t, absl::StatusOr<ServablePtr>>& loaded, std::string note);
  // Nothing of it serves any more. kNotFound for a model that is not known.
  absl::Status Unload(const std::string& name);
  // Whether what serves, or is idle, was loaded from files that came with a load.
  bool IsOfClient(const std::string& name) const;
  // Knows the model no more, if nothing of it serves, is idle or is being loaded.
  void Forget(const std::string& name);
  void Clear();

  // ---- For models that are idle ----

  struct Unused {
    std::string name;
    Clock::duration time;  // since the latest request
    MemoryUse memory;      // that it holds (MemoryBudget)
  };
  // The models that serve, but not now: no request has a version of theirs, and none is loading. The least recently
  // used one first.
  std::vector<Unused> ListUnused() const;
  // Unloads a model that is unused, and has been for so long; else changes nothing and says so. `reason` is for the
  // index. Its versions are held by nobody then.
  bool UnloadUnused(const std::string& name, Clock::duration at_least, const std::string& reason);
  struct IdleModel {
    ServedSet served;
    std::string note;  // of Swap
  };
  // What of a model served when it was unloaded as idle; nothing of one that was not, or has been loaded since.
  std::optional<IdleModel> FindIdle(const std::string& name) const;

  // ---- For requests ----

  // The version named by its number or label. If `version` is empty: the one that the model's traffic split gives most
  // requests, or without a split the highest, of those that serve. kNotFound for a model, version or label that is not
  // known, kUnavailable for one that is loading, was unloaded, is idle or failed (with the reason), and for any before
  // Know; kInvalidArgument for a version that is neither in form.
  absl::StatusOr<ServablePtr> Find(const std::string& name, const std::string& version) const;
  // The same for a request that is to be counted by the traffic split, and for which the model is not unused.
  absl::StatusOr<ServablePtr> Choose(const std::string& name, const std::string& version) const;
  // Versions of a model that serve, ascending; empty if none does.
  std::vector<int64_t> ServedVersions(const std::string& name) const;
  // For who looks on, as Versions: who has any of that does not use the models.
  std::vector<ServablePtr> Serving() const;
  // Every version that serves or should: the chosen ones, whether they are loading, failed or were unloaded, and models
  // of which no version is known.
  std::vector<VersionStatus> Versions() const;
  // Every model and version that is known, and the models `on_disk`, sorted.
  std::vector<IndexEntry> Index(std::set<std::string> on_disk, bool ready_only) const;
  // Whether SetStarted was called and each model serves, was unloaded, is idle, or has not failed.
  bool AllReady() const;
  // "m version 2: why" of each load that failed and was not followed by one that did not.
  std::vector<std::string> Failures() const;
  bool started() const;
  bool Knows(const std::string& name) const;
  std::vector<std::string> KnownModels() const;

 private:
  struct Version {
    ServablePtr serving;                 // null if it does not serve
    ServablePtr shown;                   // the same for who looks on and does not use it (IsUnused)
    std::weak_ptr<const Servable> last;  // the one that drains after an unload
    std::string failure;                 // why the latest load failed; empty if it did not
    std::shared_ptr<ModelStatistics> statistics;
    std::shared_ptr<ObservedCalls> observed;  // of what serves, or served last; may be null
    std::string measured_stamp;               // of the archive that was last loaded; what it held then:
    MemoryUse measured;
    bool chosen = false;  // by the version policy, when the model was last loaded
  };
  struct Idle {
    IdleModel model;
    std::vector<ClientFilesPtr> files;  // that its versions are loaded from again
    std::string reason;                 // for the index
    Clock::time_point not_until;        // that a request has it loaded
  };
  struct Entry {
    std::map<int64_t, Version> versions;
    std::optional<Idle> idle;
    std::string failure;  // why the model as a whole failed
    // Of loads that failed while none of its versions served or should.
    std::shared_ptr<ModelStatistics> statistics = std::make_shared<ModelStatistics>();
    int loading = 0;  // loads asked for and not ended
    bool unloaded = false;
    std::string note;    // what the index says of versions that serve; mostly empty
    ServedSet previous;  // before the last swap that made a difference
    VersionRouting routing;
    std::vector<int64_t> turns;  // of the versions in the traffic split that serve (TurnsOf)
    mutable std::atomic<uint64_t> turn{0};
    mutable std::atomic<Clock::rep> last_use{0};  // of the clock's ticks: a request came or was under way
  };

  // All of these under the lock.
  // Whether it serves or should.
  static bool IsListed(const Version& version) { return version.chosen || version.serving != nullptr; }
  // What served before, which is the one to drain.
  static ServablePtr SetServing(Version& version, ServablePtr serving);
  static void NoteUse(const Entry& entry);
  // Whether some of it serves and nobody has any of it, nor loads any.
  static bool IsUnused(const Entry& entry);
  absl::Status Unknown(const std::string& name) const;
  static absl::StatusOr<ServablePtr> FindIn(const std::string& name, const Entry& entry, const std::string& version);
  static ServedSet ServedOf(const Entry& entry);
  // What of its traffic split serves takes turns.
  static void TakeTurns(const std::string& name, Entry& entry);
  // Of a version that does not serve and is to take some requests: who takes them; else empty.
  static std::string SplitNote(const Entry& entry, int64_t version);
  // `number` is 0 where `version` is empty.
  static absl::StatusOr<ServablePtr> FindServing(const std::string& name, const Entry& entry,
                                                 const std::string& version, int64_t number);
  // Of a model that is idle: that it is, or that it did not serve that version.
  static absl::Status IdleStatus(const std::string& what, const std::string& name, const Entry& entry, int64_t number);
  static absl::Status NotServed(const std::string& name, int64_t number, const std::vector<int64_t>& served);
  static ModelState StateOf(const Entry& entry, int64_t number, const Version& version);

  const Clock::duration rest_;
  mutable std::shared_mutex mutex_;
  std::map<std::string, Entry> entries_;
  bool looked_ = false;  // for the models of the start
  bool started_ = false;
};

}  // namespace hearth::server
