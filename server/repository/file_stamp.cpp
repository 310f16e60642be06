#include "server/repository/file_stamp.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/repository/data_files.h"
#include "server/repository/layout.h"

namespace hearth::server {
namespace fs = std::filesystem;
namespace {

// Of the files in a folder, not of its folders, in the order of their names.
std::string StampFilesIn(const fs::path& folder) {
  std::vector<std::string> stamps;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code unknown;
    if (!it->is_directory(unknown)) stamps.push_back(FileStamp(it->path()));
  }
  if (error) stamps.push_back(absl::StrCat(folder.string(), ": ", error.message()));
  std::sort(stamps.begin(), stamps.end());
  return absl::StrJoin(stamps, "\n");
}

std::string StampModel(const fs::path& folder) {
  std::vector<std::string> parts = {folder.string(), StampFilesIn(folder)};
  for (const char* data : kDataFolders) parts.push_back(StampFilesIn(folder / data));
  for (int64_t version : ListVersions(folder)) {
    parts.push_back(absl::StrCat("version ", version));
    parts.push_back(StampFilesIn(folder / std::to_string(version)));
  }
  return absl::StrJoin(parts, "\n");
}

// Writing, renaming and linking all count; copying an older time of change to a file does, too.
bool HasChangedSince(const fs::path& path, std::chrono::system_clock::time_point then) {
  struct stat entry;
  if (stat(path.c_str(), &entry) != 0) return false;
  const auto changed = std::chrono::seconds(entry.st_ctim.tv_sec) + std::chrono::nanoseconds(entry.st_ctim.tv_nsec);
  return changed >= then.time_since_epoch();
}

// Of a folder and what lies in it, not in its folders.
bool FolderHasChangedSince(const fs::path& folder, std::chrono::system_clock::time_point then) {
  if (HasChangedSince(folder, then)) return true;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (HasChangedSince(it->path(), then)) return true;
  }
  return false;
}

bool ModelHasChangedSince(const fs::path& folder, std::chrono::system_clock::time_point then) {
  const std::vector<int64_t> versions = ListVersions(folder);
  return FolderHasChangedSince(folder, then) ||
         std::ranges::any_of(kDataFolders,
                             [&](const char* data) { return FolderHasChangedSince(folder / data, then); }) ||
         std::ranges::any_of(
             versions, [&](int64_t version) { return FolderHasChangedSince(folder / std::to_string(version), then); });
}

}  // namespace

std::string FileStamp(const fs::path& file) {
  struct stat entry;
  if (stat(file.c_str(), &entry) != 0) {
    return absl::StrCat(file.string(), ": ", std::generic_category().message(errno));
  }
  return absl::StrCat(file.string(), " ", entry.st_dev, " ", entry.st_ino, " ", entry.st_size, " ",
                      entry.st_mtim.tv_sec, ".", entry.st_mtim.tv_nsec);
}

absl::StatusOr<std::map<std::string, std::string>> StampModels(const std::vector<fs::path>& roots) {
  std::map<std::string, std::string> stamps;
  for (const fs::path& root : roots) {
    const auto names = ListModels(root);
    if (!names.ok()) return names.status();
    for (const std::string& name : *names) absl::StrAppend(&stamps[name], StampModel(root / name), "\n");
  }
  return stamps;
}

std::set<std::string> ModelsChangedSince(const std::vector<fs::path>& roots,
                                         std::chrono::system_clock::time_point then) {
  std::set<std::string> changed;
  for (const fs::path& root : roots) {
    const auto names = ListModels(root);
    if (!names.ok()) continue;
    for (const std::string& name : *names) {
      if (ModelHasChangedSince(root / name, then)) changed.insert(name);
    }
  }
  return changed;
}

}  // namespace hearth::server
