// Files that clients send with the load of a model, which is loaded from these alone. They lie in a folder of this
// process's: for each load one that is laid out as a model's folder in a repository is (layout.h), and that goes when
// nothing needs it any more.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/repository/temporary_folder.h"

namespace hearth::server {

// Files of one load.
inline constexpr size_t kMostClientFiles = 128;

// The bytes of each file by its path in the model's folder: "1/model.pt".
using FileContents = std::map<std::string, std::string>;

// kInvalidArgument, with what was expected and what came, unless every path is VERSION/NAME, or beside some of these
// the NAME of a file of no version, or FOLDER/NAME: VERSION is a positive number without leading zeros, FOLDER one of
// kDataFolders (data_files.h), NAME one name of a file (CheckFileName), or in a version several with '/' between them.
// So a path leads nowhere but into the model's folder. Nor may a file be a folder of another one, or the model's
// configuration, nor may there be more than kMostClientFiles.
absl::Status CheckClientFiles(const FileContents& files);

class ClientFilesStore;

// The files of one load, on disk. The folder goes with this.
class ClientFiles {
 public:
  ~ClientFiles();
  ClientFiles(const ClientFiles&) = delete;
  ClientFiles& operator=(const ClientFiles&) = delete;

  const std::filesystem::path& folder() const { return folder_; }

 private:
  friend ClientFilesStore;
  ClientFiles(std::shared_ptr<ClientFilesStore> store, std::filesystem::path folder, int64_t bytes)
      : store_(std::move(store)), folder_(std::move(folder)), bytes_(bytes) {}

  const std::shared_ptr<ClientFilesStore> store_;
  const std::filesystem::path folder_;
  const int64_t bytes_;
};

using ClientFilesPtr = std::shared_ptr<const ClientFiles>;

// Thread-safe.
class ClientFilesStore : public std::enable_shared_from_this<ClientFilesStore> {
 public:
  // Files lie in a new folder in `within`, which is made if it is not there; those of all loads have at most
  // `most_bytes`. kFailedPrecondition if there can be no such folder.
  static absl::StatusOr<std::shared_ptr<ClientFilesStore>> Open(const std::filesystem::path& within,
                                                                int64_t most_bytes);
  // Removes what processes that were killed left in `within`.
  static void RemoveAbandoned(const std::filesystem::path& within);

  // Writes files that CheckClientFiles has nothing against. kResourceExhausted where they, with those of other loads,
  // have too many bytes, or the disk has no room; kInternal with another reason. Blocks.
  absl::StatusOr<ClientFilesPtr> Write(const FileContents& files);

  // The folder of all.
  const std::filesystem::path& root() const { return root_->path(); }
  // That lie here now.
  int64_t bytes() const { return bytes_; }

 private:
  friend ClientFiles;
  ClientFilesStore(std::unique_ptr<TemporaryFolder> root, int64_t most_bytes)
      : root_(std::move(root)), most_bytes_(most_bytes) {}

  const std::unique_ptr<TemporaryFolder> root_;
  const int64_t most_bytes_;
  std::atomic<int64_t> bytes_{0};
  std::atomic<uint64_t> loads_{0};  // so far, which number their folders
};

}  // namespace hearth::server
