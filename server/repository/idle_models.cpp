// Models that nobody uses: which they are, how they are unloaded, and how who asks for one has it loaded again.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "server/repository/file_stamp.h"
#include "server/repository/layout.h"
#include "server/repository/repository.h"
#include "server/repository/repository_log.h"

namespace hearth::server {
namespace fs = std::filesystem;
namespace {

// Marks a status; see IsIdle.
constexpr const char* kIdleType = "hearth/idle";
// Two uses within that time are one: requests do not all write to the same place.
constexpr auto kOneUse = std::chrono::milliseconds(1);
// Between two looks of a load that waits for room.
constexpr auto kLookForRoom = std::chrono::milliseconds(2);

std::string SecondsText(std::chrono::duration<double> time) {
  char text[40];
  std::snprintf(text, sizeof text, "%.10g s", std::round(time.count() * 1000) / 1000);
  return text;
}

}  // namespace

bool IsIdle(const absl::Status& status) { return status.GetPayload(kIdleType).has_value(); }

void ModelTable::NoteUse(const Entry& entry) {
  const Clock::rep now = Clock::now().time_since_epoch().count();
  if (Clock::duration(now - entry.last_use.load(std::memory_order_relaxed)) < kOneUse) return;
  entry.last_use.store(now, std::memory_order_relaxed);
}

bool ModelTable::IsUnused(const Entry& entry) {
  if (entry.loading > 0) return false;
  bool serves = false;
  for (const auto& [number, version] : entry.versions) {
    if (version.serving == nullptr) continue;
    // There would be nothing to gain.
    if (version.serving->ensemble != nullptr) return false;
    serves = true;
    // This reference and the one of `shown` are the only ones.
    if (version.serving.use_count() > 2) return false;
  }
  return serves;
}

std::vector<ModelTable::Unused> ModelTable::ListUnused() const {
  std::vector<Unused> unused;
  {
    std::shared_lock lock(mutex_);
    for (const auto& [name, entry] : entries_) {
      if (!IsUnused(entry)) {
        NoteUse(entry);
        continue;
      }
      const Clock::time_point last_use{Clock::duration(entry.last_use.load(std::memory_order_relaxed))};
      Unused& model = unused.emplace_back(Unused{name, Clock::now() - last_use});
      for (const auto& [number, version] : entry.versions) {
        if (version.serving != nullptr && version.serving->memory != nullptr) {
          model.memory += version.serving->memory->use();
        }
      }
    }
  }
  std::ranges::sort(unused, std::ranges::greater(), &Unused::time);
  return unused;
}

bool ModelTable::UnloadUnused(const std::string& name, Clock::duration at_least, const std::string& reason) {
  // These are let go of after the lock.
  std::vector<ServablePtr> old;
  ServedSet kept;
  std::unique_lock lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end() || !IsUnused(found->second)) return false;
  Entry& entry = found->second;
  const Clock::time_point last_use{Clock::duration(entry.last_use.load(std::memory_order_relaxed))};
  if (Clock::now() - last_use < at_least) return false;
  std::vector<ClientFilesPtr> files;
  for (const auto& [number, version] : entry.versions) {
    if (version.serving != nullptr && version.serving->files != nullptr) files.push_back(version.serving->files);
  }
  entry.idle.emplace(Idle{{ServedOf(entry), entry.note}, std::move(files), reason, Clock::time_point::min()});
  kept = entry.previous;
  entry.previous.LetGo();
  entry.turns.clear();
  for (auto& [number, version] : entry.versions) {
    if (version.serving == nullptr) continue;
    old.push_back(SetServing(version, nullptr));
  }
  lock.unlock();
  return true;
}

std::optional<ModelTable::IdleModel> ModelTable::FindIdle(const std::string& name) const {
  std::shared_lock lock(mutex_);
  const auto found = entries_.find(name);
  if (found == entries_.end() || !found->second.idle) return std::nullopt;
  return found->second.idle->model;
}

absl::Status ModelTable::IdleStatus(const std::string& what, const std::string& name, const Entry& entry,
                                    int64_t number) {
  const auto& served = entry.idle->model.served.versions();
  if (number != 0 && !served.contains(number)) {
    std::vector<int64_t> numbers;
    for (const auto& [version, each] : served) numbers.push_back(version);
    return NotServed(name, number, numbers);
  }
  auto status =
      absl::UnavailableError(absl::StrCat(what, " is ", entry.idle->reason, "; an inference has it loaded again"));
  status.SetPayload(kIdleType, absl::Cord());
  return status;
}

int Repository::UnloadIdle(std::chrono::duration<double> at_least) {
  int unloaded = 0;
  const auto time = std::chrono::duration_cast<ModelTable::Clock::duration>(at_least);
  for (const ModelTable::Unused& model : models_.ListUnused()) {
    if (model.time < time) break;
    const std::string reason = absl::StrCat("unloaded: idle for ", SecondsText(at_least));
    if (UnloadUnused(model.name, time, reason, idle_counts_.unloaded_for_time)) ++unloaded;
  }
  return unloaded;
}

bool Repository::UnloadUnused(const std::string& name, ModelTable::Clock::duration at_least, const std::string& reason,
                              std::atomic<uint64_t>& count) {
  if (!models_.UnloadUnused(name, at_least, reason)) return false;
  ++count;
  RepositoryLog().info("model {} is {}", name, reason);
  changed_();
  return true;
}

bool Repository::MakeRoom(const std::string& name, int64_t version, const MemoryUse& use) {
  if (!options_.unload_idle_models) return false;
  MemoryUse missing = budget_.Missing(use);
  const std::vector<ModelTable::Unused> unused = models_.ListUnused();
  MemoryUse most;
  for (const ModelTable::Unused& model : unused) most += model.memory;
  // What would not be enough is not done by halves.
  if (missing.Beyond(most).any()) return false;
  for (const ModelTable::Unused& model : unused) {
    if (!missing.any()) break;
    const MemoryUse rest = missing.Beyond(model.memory);
    // It is elsewhere, on another GPU, say.
    if (rest == missing) continue;
    const std::string reason = absl::StrCat("unloaded: idle for ", SecondsText(model.time),
                                            ", to make room for version ", version, " of '", name, "'");
    if (!UnloadUnused(model.name, ModelTable::Clock::duration(0), reason, idle_counts_.unloaded_for_room)) continue;
    missing = rest;
  }
  return !missing.any();
}

absl::StatusOr<MemoryBudget::SharePtr> Repository::TakeMemory(const std::string& name, int64_t version,
                                                              const MemoryUse& estimate) {
  auto end = std::chrono::steady_clock::now() + options_.room_wait;
  while (true) {
    auto share = budget_.Take(name, version, estimate);
    if (share.ok() || !options_.unload_idle_models || !budget_.MayFit(estimate)) return share;
    if (MakeRoom(name, version, estimate)) continue;
    const auto now = std::chrono::steady_clock::now();
    if (loads_with_memory_ > 0) end = now + options_.room_wait;
    if (now >= end || stop_.stop_requested()) return share;
    std::this_thread::sleep_for(kLookForRoom);
  }
}

absl::Status Repository::SettleMemory(MemoryBudget::Share& share, const Servable& servable) {
  const auto end = std::chrono::steady_clock::now() + options_.room_wait;
  while (true) {
    absl::Status status = budget_.Settle(share, servable.model);
    if (status.ok() || !options_.unload_idle_models || !budget_.MayFit(share.use())) return status;
    if (MakeRoom(servable.name, servable.version, {})) continue;
    if (std::chrono::steady_clock::now() >= end || stop_.stop_requested()) return status;
    std::this_thread::sleep_for(kLookForRoom);
  }
}

void Repository::LoadIdle(const std::string& name, std::weak_ptr<const void> who, Done done) {
  bool first = false;
  {
    std::unique_lock lock(mutex_);
    // StopLoading answers those who came before.
    if (stop_.stop_requested()) {
      lock.unlock();
      return done(ShuttingDown());
    }
    const auto [entry, added] = waiting_for_load_.try_emplace(name);
    std::vector<Waiter>& waiters = entry->second;
    const auto is_gone = [](const Waiter& waiter) { return waiter.who.expired(); };
    if (waiters.size() >= kMostWaitingForLoad) std::erase_if(waiters, is_gone);
    if (waiters.size() >= kMostWaitingForLoad) {
      lock.unlock();
      return done(TooMany("too many requests wait for the model to be loaded again"));
    }
    first = added;
    waiters.push_back({std::move(who), std::move(done)});
  }
  if (!first) return;
  const bool known = models_.BeginLoad(name);
  loader_->Post(name, [this, name, known] {
    absl::Status status;
    try {
      status = known ? LoadIdleNow(name) : absl::NotFoundError(absl::StrCat("unknown model '", name, "'"));
    } catch (const std::exception& error) {
      status = absl::InternalError(error.what());
      FailModel(name, status);
    }
    // Whatever is wrong with the model is not wrong with the requests.
    if (known && !status.ok() && !absl::IsResourceExhausted(status)) {
      status = absl::UnavailableError(
          absl::StrCat("the idle model '", name, "' cannot be loaded again: ", status.message()));
    }
    changed_();
    ModelChanged(name);
    // Requests have it loaded then, so it is ready.
    if (!status.ok() && !IsIdle(models_.Find(name, "").status())) {
      reminder_.CallAt(Reminder::Clock::now() + options_.rest_after_failure);
    }
    std::vector<Waiter> waiters;
    {
      std::lock_guard lock(mutex_);
      const auto found = waiting_for_load_.find(name);
      if (found == waiting_for_load_.end()) return;
      waiters = std::move(found->second);
      waiting_for_load_.erase(found);
    }
    for (const Waiter& waiter : waiters) waiter.done(status);
  });
}

absl::Status Repository::LoadIdleNow(const std::string& name) {
  const auto idle = models_.FindIdle(name);
  if (!idle || stop_.stop_requested()) {
    models_.EndLoad(name);
    return idle ? ShuttingDown() : absl::OkStatus();
  }
  std::map<int64_t, fs::path> folders;
  for (const auto& [number, version] : idle->served.versions()) {
    const auto folder = FolderOf(name, version);
    if (!folder.ok()) {
      FailModel(name, folder.status());
      return folder.status();
    }
    folders.emplace(number, *folder);
  }
  absl::Status status, no_room;
  bool serves = false;
  std::map<int64_t, absl::StatusOr<ServablePtr>> loaded;
  for (const auto& [number, version] : idle->served.versions()) {
    const fs::path& folder = folders.at(number);
    if (FileStamp(ArchivePath(folder, number, version.config.default_model_filename())) != version.archive_stamp) {
      RepositoryLog().warn("the archive of {} version {} is not the one that served before it was unloaded", name,
                           number);
    }
    auto servable = LoadVersion(folder, version.files.lock(), number, version.config,
                                models_.StatisticsOf(name, number), Pace::kFull);
    if (MemoryBudget::IsNoRoom(servable.status())) no_room = servable.status();
    if (!servable.ok() && (status.ok() || !no_room.ok())) {
      status = absl::Status(servable.status().code(),
                            absl::StrCat("version ", number, " of '", name, "': ", servable.status().message()));
    }
    if (!no_room.ok()) break;
    serves = serves || servable.ok();
    loaded.emplace(number, std::move(servable));
  }
  if (!no_room.ok()) {
    // It serves as it did or stays idle. What was loaded in vain is not loaded for the next request, too.
    if (!loaded.empty()) no_room = absl::Status(no_room.code(), no_room.message());
    serves = false;
    loaded.clear();
    for (const auto& [number, version] : idle->served.versions()) loaded.emplace(number, no_room);
  }
  models_.Swap(name, idle->served.routing(), loaded, idle->note);
  if (!serves) return status;
  ++idle_counts_.loaded_again;
  RepositoryLog().info("model {} is asked for and is loaded again", name);
  // A version that failed says so itself to who asks for it.
  return absl::OkStatus();
}

}  // namespace hearth::server
