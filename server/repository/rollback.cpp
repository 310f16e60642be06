// Repository::RollBack: what a model served before serves again.
#include <exception>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/repository/ensemble_graph.h"
#include "server/repository/file_stamp.h"
#include "server/repository/layout.h"
#include "server/repository/repository.h"
#include "server/repository/repository_log.h"

namespace hearth::server {

void Repository::RollBack(const std::string& name, int64_t version, Done done) {
  if (options_.control == ModelControl::kNone) return done(CheckControl());
  if (absl::Status status = CheckModelName(name); !status.ok()) return done(status);
  if (stop_.stop_requested()) return done(ShuttingDown());
  if (!models_.BeginLoad(name)) return done(absl::NotFoundError(absl::StrCat("unknown model '", name, "'")));
  if (MayWait() && loader_->TryPost(name, RollBackJob(name, version, done))) return;
  EndLoad(name);
  done(TooMany("too many loads wait"));
}

std::function<void()> Repository::RollBackJob(const std::string& name, int64_t version, Done done) {
  return [this, name, version, done = std::move(done)] {
    if (WaitBehind(name, [&] { return RollBackJob(name, version, done); })) return;
    absl::Status status;
    try {
      status = RollBackNow(name, version);
    } catch (const std::exception& error) {
      status = absl::InternalError(absl::StrCat("rolling back '", name, "': ", error.what()));
    }
    if (!status.ok()) {
      models_.EndLoad(name);
      RepositoryLog().error("model {} is not rolled back: {}", name, std::string(status.message()));
    }
    changed_();
    ModelChanged(name);
    done(std::move(status));
  };
}

absl::Status Repository::RollBackNow(const std::string& name, int64_t version) {
  if (stop_.stop_requested()) return ShuttingDown();
  const auto idle = models_.FindIdle(name);
  const auto wanted = models_.RollbackTarget(name, version);
  if (!wanted.ok()) return wanted.status();
  std::map<int64_t, absl::StatusOr<ServablePtr>> restored;
  for (const auto& [number, each] : wanted->versions()) {
    auto servable = Restore(name, number, each);
    if (!servable.ok()) {
      return {servable.status().code(),
              absl::StrCat("version ", number, " of '", name, "': ", servable.status().message())};
    }
    restored.emplace(number, std::move(servable));
  }
  const std::string from = idle ? idle->served.Names() : absl::StrJoin(models_.ServedVersions(name), ", ");
  RepositoryLog().warn("model {} is rolled back: {} serves in place of {}", name, wanted->Names(), from);
  models_.Swap(name, wanted->routing(), restored, absl::StrCat("rolled back from ", from));
  ForgetFailed(name);
  return absl::OkStatus();
}

absl::StatusOr<ServablePtr> Repository::Restore(const std::string& name, int64_t version,
                                                const ServedSet::Version& wanted) {
  if (const ServablePtr warm = wanted.servable.lock()) return WithConfig(*warm, wanted.config, warm->labels);
  const ClientFilesPtr files = wanted.files.lock();
  const auto folder = FolderOf(name, wanted);
  if (!folder.ok()) return folder.status();
  std::error_code error;
  // An ensemble has no archive, and needs no folder for its version.
  if (!IsEnsemble(wanted.config) && !std::filesystem::is_directory(*folder / std::to_string(version), error)) {
    return absl::NotFoundError(absl::StrCat("it is not on disk, only ", absl::StrJoin(ListVersions(*folder), ", ")));
  }
  const auto archive = ArchivePath(*folder, version, wanted.config.default_model_filename());
  if (!wanted.archive_stamp.empty() && FileStamp(archive) != wanted.archive_stamp) {
    return absl::FailedPreconditionError("its archive was replaced since it served");
  }
  return LoadVersion(*folder, files, version, wanted.config, models_.StatisticsOf(name, version), PaceNow());
}

}  // namespace hearth::server
