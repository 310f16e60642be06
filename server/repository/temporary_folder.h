// A folder for files that are to go with the process, or earlier. A process that is killed leaves its folder behind;
// another one can tell that nobody uses it, because each process keeps its folders locked (flock).
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace hearth::server {

class TemporaryFolder {
 public:
  // Makes an empty folder in `within`, named `prefix` and six more characters, for this user alone.
  // kFailedPrecondition, with the reason, where that cannot be.
  static absl::StatusOr<std::unique_ptr<TemporaryFolder>> Make(const std::filesystem::path& within,
                                                               std::string_view prefix);
  // Removes it with everything in it.
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  TemporaryFolder(std::filesystem::path path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  const std::filesystem::path path_;
  const int descriptor_;  // of the folder, which holds the lock
};

// Removes the folders in `within` that Make made with this prefix, for this user, in processes that have ended. Leaves
// them where the file system has no locks. Thread-safe, and safe beside other processes that do the same.
void RemoveAbandonedFolders(const std::filesystem::path& within, std::string_view prefix);

}  // namespace hearth::server
