#include "server/storage/mirror.h"

#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "jit/support/logging.h"
#include "server/repository/layout.h"
#include "server/storage/child_process.h"
#include "server/storage/storage_url.h"

namespace hearth::server {
namespace fs = std::filesystem;
namespace {

// Of a listing: a few hundred thousand files.
constexpr size_t kMostListing = 64 << 20;
constexpr size_t kMostDownloadOutput = 1 << 20;
// Files on their way in; hidden, so that no model is called so.
constexpr const char* kArrivingFolders = ".arriving.";
// In the folder for temporary files.
constexpr const char* kTemporaryFolders = "hearth_models.";
// One that a process left behind which was killed is removed when it is as old as that: others may share the folder.
constexpr std::chrono::hours kLongestArrival{24};
// rclone's, where there is no such bucket.
constexpr int kNoSuchFolder = 3;

spdlog::logger& MirrorLog() {
  static spdlog::logger& log = LoggerOf("repository/mirror");
  return log;
}

// Since 1970, as this machine's files have it.
std::chrono::sys_time<std::chrono::nanoseconds> TimeOf(const fs::path& file, std::error_code& error) {
  return std::chrono::file_clock::to_sys(fs::last_write_time(file, error));
}

bool IsHere(const fs::path& file, const StoredFile& stored) {
  std::error_code error;
  const uintmax_t size = fs::file_size(file, error);
  if (error || size != static_cast<uintmax_t>(stored.size)) return false;
  return TimeOf(file, error) == stored.changed && !error;
}

// The words that every call has.
std::vector<std::string> Rclone(const std::vector<std::string>& words) {
  std::vector<std::string> all = {
      "rclone",           "--config=",    "--use-server-modtime", "--retries=2", "--low-level-retries=3",
      "--contimeout=10s", "--timeout=60s"};
  // rclone cannot take the authorities from the variable that Amazon's tools have for them.
  if (const char* const authorities = std::getenv("AWS_CA_BUNDLE"); authorities != nullptr && *authorities != '\0') {
    all.push_back(absl::StrCat("--ca-cert=", authorities));
  }
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

// Of a call that failed: what rclone says of it last, without its clock.
std::string ReasonIn(const ProgramOutput& ended) {
  const std::vector<std::string> lines = absl::StrSplit(ended.errors, '\n', absl::SkipWhitespace());
  if (lines.empty()) return absl::StrCat("rclone ended with status ", ended.status);
  const std::string& line = lines.back();
  constexpr size_t kClock = std::string_view("2006/01/02 15:04:05 ").size();
  const bool has_clock = line.size() > kClock && line[4] == '/' && line[13] == ':';
  return has_clock ? line.substr(kClock) : line;
}

absl::StatusOr<std::string> RunRclone(const std::vector<std::string>& words, size_t most_output,
                                      const std::stop_token& stop) {
  auto ended = RunProgram(Rclone(words), {"AWS_CA_BUNDLE"}, most_output, stop);
  if (absl::IsNotFound(ended.status())) {
    return absl::FailedPreconditionError(
        "models in object storage are downloaded by rclone, which is not in PATH: apt-get install rclone");
  }
  if (!ended.ok()) return ended.status();
  if (ended->status == 0) return std::move(ended->output);
  const std::string reason = ReasonIn(*ended);
  return ended->status == kNoSuchFolder ? absl::NotFoundError(reason) : absl::UnavailableError(reason);
}

// The first part of each path that can be a model, with what lies in it.
std::map<std::string, Listing> ByModel(const Listing& listing) {
  std::map<std::string, Listing> models;
  for (const auto& [path, file] : listing) {
    const size_t end = path.find('/');
    if (end == path.npos) continue;
    const std::string model = path.substr(0, end);
    if (CheckModelName(model).ok()) models[model].emplace(path.substr(end + 1), file);
  }
  return models;
}

void RemoveOldArrivals(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (!it->path().filename().string().starts_with(kArrivingFolders)) continue;
    std::error_code ignored;
    if (fs::file_time_type::clock::now() - fs::last_write_time(it->path(), ignored) > kLongestArrival) {
      fs::remove_all(it->path(), ignored);
    }
  }
}

absl::Status First(const absl::Status& first, const absl::Status& second) { return first.ok() ? second : first; }

// A name for a folder: letters and digits stay, and what tells two URLs apart that are alike then.
std::string FolderNameOf(const std::string& url) {
  std::string name;
  for (const char c : url) name += absl::ascii_isalnum(static_cast<unsigned char>(c)) ? c : '_';
  uint64_t hash = 14695981039346656037ULL;  // FNV-1a, which is the same on every machine
  for (const unsigned char c : url) hash = (hash ^ c) * 1099511628211ULL;
  return absl::StrCat(name.substr(0, 100), "_", absl::Hex(hash, absl::kZeroPad16));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Mirror>> Mirror::Open(std::string url, fs::path folder, MirrorCounts& counts) {
  auto remote = RcloneRemote(url);
  if (!remote.ok()) return remote.status();
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return absl::FailedPreconditionError(
        absl::StrCat("there is no folder ", folder.string(), " for the models of ", url, ": ", error.message()));
  }
  RemoveOldArrivals(folder);
  return std::unique_ptr<Mirror>(new Mirror(std::move(url), *std::move(remote), std::move(folder), counts));
}

Mirror::Mirror(std::string url, std::string remote, fs::path folder, MirrorCounts& counts)
    : url_(std::move(url)), remote_(std::move(remote)), folder_(std::move(folder)), counts_(counts) {}

absl::Status Mirror::Counted(absl::FunctionRef<absl::Status()> fetch) try {
  const absl::Status status = fetch();
  if (status.ok()) return status;
  ++counts_.failures;
  return absl::Status(status.code(), absl::StrCat(url_, ": ", status.message()));
} catch (const std::exception& error) {
  // A disk that is full, or no more processes.
  ++counts_.failures;
  return absl::InternalError(absl::StrCat(url_, ": ", error.what()));
}

absl::StatusOr<std::string> Mirror::List(const std::string& remote, const std::vector<std::string>& flags,
                                         const std::stop_token& stop) const {
  std::vector<std::string> words = {"lsjson", "--no-mimetype"};
  words.insert(words.end(), flags.begin(), flags.end());
  words.push_back(remote);
  return RunRclone(words, kMostListing, stop);
}

std::vector<std::string> Mirror::Models() const { return ListModels(folder_).value_or(std::vector<std::string>()); }

std::mutex& Mirror::MutexOf(const std::string& model) {
  return mutexes_[std::hash<std::string>()(model) % mutexes_.size()];
}

absl::Status Mirror::FindModels(const std::stop_token& stop) {
  const absl::Status found = Counted([&]() -> absl::Status {
    const auto listed = List(remote_, {"--dirs-only", "--no-modtime"}, stop);
    if (!listed.ok()) return listed.status();
    const auto folders = ReadFolders(*listed);
    if (!folders.ok()) return folders.status();
    std::set<std::string> names;
    for (const std::string& name : *folders) {
      if (!CheckModelName(name).ok()) continue;
      names.insert(name);
      fs::create_directories(folder_ / name);
    }
    for (const std::string& model : Models()) {
      if (!names.contains(model)) fs::remove_all(folder_ / model);
    }
    return absl::OkStatus();
  });
  if (found.ok() || stop.stop_requested() || Models().empty()) return found;
  MirrorLog().warn("{}; models are served as they were mirrored before", std::string(found.message()));
  return absl::OkStatus();
}

absl::Status Mirror::Fetch(const std::string& model, const std::stop_token& stop) {
  if (absl::Status status = CheckModelName(model); !status.ok()) return status;
  return Counted([&]() -> absl::Status {
    std::lock_guard lock(MutexOf(model));
    const auto listed = List(absl::StrCat(remote_, "/", model), {"--recursive", "--files-only"}, stop);
    if (!listed.ok()) return listed.status();
    const auto wanted = ReadListing(*listed);
    return wanted.ok() ? Update(model, *wanted, stop) : wanted.status();
  });
}

absl::Status Mirror::FetchAll(const std::stop_token& stop) {
  return Counted([&]() -> absl::Status {
    const auto listed = List(remote_, {"--recursive", "--files-only"}, stop);
    if (!listed.ok()) return listed.status();
    const auto listing = ReadListing(*listed);
    if (!listing.ok()) return listing.status();
    std::map<std::string, Listing> models = ByModel(*listing);
    for (const std::string& model : Models()) models.try_emplace(model);
    absl::Status status;
    for (const auto& [model, wanted] : models) {
      std::lock_guard lock(MutexOf(model));
      status = First(status, Update(model, wanted, stop));
    }
    return status;
  });
}

absl::Status Mirror::Update(const std::string& model, const Listing& wanted, const std::stop_token& stop) {
  Listing lacking;
  for (const auto& [path, file] : wanted) {
    if (!IsHere(folder_ / model / path, file)) lacking.emplace(path, file);
  }
  if (!lacking.empty()) {
    if (absl::Status status = Download(model, lacking, stop); !status.ok()) return status;
  }
  RemoveOthers(model, wanted);
  return absl::OkStatus();
}

absl::Status Mirror::Download(const std::string& model, const Listing& lacking, const std::stop_token& stop) {
  const auto arriving = TemporaryFolder::Make(folder_, kArrivingFolders);
  if (!arriving.ok()) return arriving.status();
  const fs::path names = (*arriving)->path() / "names", files = (*arriving)->path() / "files";
  {
    std::ofstream out(names);
    out.exceptions(std::ios::failbit | std::ios::badbit);
    for (const auto& [path, file] : lacking) out << path << '\n';
  }
  const auto copied = RunRclone({"copy", "--no-traverse", absl::StrCat("--files-from-raw=", names.string()),
                                 absl::StrCat(remote_, "/", model), files.string()},
                                kMostDownloadOutput, stop);
  if (!copied.ok()) return copied.status();
  for (const auto& [path, file] : lacking) {
    std::error_code error;
    const uintmax_t size = fs::file_size(files / path, error);
    if (error || size != static_cast<uintmax_t>(file.size)) {
      return absl::UnavailableError(absl::StrCat(model, "/", path, " changed while it was downloaded: it had ",
                                                 file.size, " bytes, and ",
                                                 error ? "is gone" : absl::StrCat(size, " came")));
    }
  }
  // Configurations and labels last: they may speak of what the others bring.
  std::vector<std::string> order;
  for (const bool in_folder : {true, false}) {
    for (const auto& [path, file] : lacking) {
      if ((path.find('/') != path.npos) == in_folder) order.push_back(path);
    }
  }
  for (const std::string& path : order) {
    const StoredFile& file = lacking.at(path);
    fs::last_write_time(files / path, std::chrono::file_clock::from_sys(file.changed));
    const fs::path place = folder_ / model / path;
    fs::create_directories(place.parent_path());
    fs::rename(files / path, place);
    ++counts_.files;
    counts_.bytes += static_cast<uint64_t>(file.size);
  }
  MirrorLog().info("files downloaded of model {} from {}: {}", model, url_, order.size());
  return absl::OkStatus();
}

void Mirror::RemoveOthers(const std::string& model, const Listing& wanted) const {
  const fs::path folder = folder_ / model;
  if (wanted.empty()) {
    fs::remove_all(folder);
    return;
  }
  std::vector<fs::path> folders;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_directory() && !entry.is_symlink()) {
      folders.push_back(entry.path());
    } else if (!wanted.contains(entry.path().lexically_relative(folder).generic_string())) {
      fs::remove(entry.path());
    }
  }
  // Those within others first; one that holds something stays.
  for (auto each = folders.rbegin(); each != folders.rend(); ++each) {
    std::error_code holds_something;
    fs::remove(*each, holds_something);
  }
}

absl::StatusOr<std::unique_ptr<Mirrors>> Mirrors::Open(const std::vector<std::string>& repositories,
                                                       const fs::path& folder) {
  std::unique_ptr<Mirrors> mirrors(new Mirrors());
  for (const std::string& repository : repositories) {
    if (!IsStorageUrl(repository)) {
      mirrors->roots_.emplace_back(repository);
      continue;
    }
    if (folder.empty() && mirrors->temporary_ == nullptr) {
      RemoveAbandonedFolders(fs::temp_directory_path(), kTemporaryFolders);
      auto made = TemporaryFolder::Make(fs::temp_directory_path(), kTemporaryFolders);
      if (!made.ok()) return made.status();
      mirrors->temporary_ = *std::move(made);
    }
    const fs::path& within = folder.empty() ? mirrors->temporary_->path() : folder;
    auto mirror = Mirror::Open(repository, within / FolderNameOf(repository), mirrors->counts_);
    if (!mirror.ok()) return mirror.status();
    mirrors->roots_.push_back((*mirror)->folder());
    mirrors->mirrors_.push_back(*std::move(mirror));
  }
  return mirrors;
}

absl::Status Mirrors::FindModels(const std::stop_token& stop) {
  absl::Status status;
  for (const auto& mirror : mirrors_) status = First(status, mirror->FindModels(stop));
  return status;
}

absl::Status Mirrors::Fetch(const std::string& model, const std::stop_token& stop) {
  absl::Status status;
  for (const auto& mirror : mirrors_) status = First(status, mirror->Fetch(model, stop));
  return status;
}

absl::Status Mirrors::FetchAll(const std::stop_token& stop) {
  absl::Status status;
  for (const auto& mirror : mirrors_) status = First(status, mirror->FetchAll(stop));
  return status;
}

}  // namespace hearth::server
