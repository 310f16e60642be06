// Folders on this machine that hold the models of object storage, for a repository to load them from.
//
// rclone (https://rclone.org), a program, lists and downloads; this says what is to be downloaded and puts it in place.
// A file takes its place by a rename once it is whole, so that a load never meets half of one. What has a file's size
// and time of change is that file: what is there from an earlier process is not downloaded again.
//
// rclone finds credentials as the storage's own tools do (environment, files in the home folder, the machine's role),
// and its variables RCLONE_S3_* and RCLONE_GCS_* say more.
//
// All methods block and are thread-safe. Of one model, one is fetched at a time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/repository/temporary_folder.h"
#include "server/storage/listing.h"

namespace hearth::server {

// What was done, since the process began.
struct MirrorCounts {
  std::atomic<uint64_t> files{0};  // downloaded
  std::atomic<uint64_t> bytes{0};
  std::atomic<uint64_t> failures{0};  // of any kind: storage that is not reached, a disk that is full
};

// One URL's.
class Mirror {
 public:
  // `folder`, which is made if it is not there, holds nothing else. kInvalidArgument for a URL that is none
  // (storage_url.h). `counts` outlives the mirror.
  static absl::StatusOr<std::unique_ptr<Mirror>> Open(std::string url, std::filesystem::path folder,
                                                      MirrorCounts& counts);

  const std::filesystem::path& folder() const { return folder_; }

  // Has a folder, empty at first, for each model that the storage has, and for no other one. Where the storage cannot
  // be reached but models were mirrored before, they stay as they are and only the log says so.
  absl::Status FindModels(const std::stop_token& stop);
  // Has the files of a model as they are in the storage now; its folder is gone if it has none there. On an error those
  // files stay that were there, or are new and whole.
  absl::Status Fetch(const std::string& model, const std::stop_token& stop);
  // Fetch for all models, of which one that fails keeps no other from being fetched. The first error.
  absl::Status FetchAll(const std::stop_token& stop);

 private:
  Mirror(std::string url, std::string remote, std::filesystem::path folder, MirrorCounts& counts);

  // What `fetch` says, counted if that is an error, with the URL.
  absl::Status Counted(absl::FunctionRef<absl::Status()> fetch);
  absl::StatusOr<std::string> List(const std::string& remote, const std::vector<std::string>& flags,
                                   const std::stop_token& stop) const;
  absl::Status Update(const std::string& model, const Listing& wanted, const std::stop_token& stop);
  absl::Status Download(const std::string& model, const Listing& lacking, const std::stop_token& stop);
  void RemoveOthers(const std::string& model, const Listing& wanted) const;
  // The folders here.
  std::vector<std::string> Models() const;
  std::mutex& MutexOf(const std::string& model);

  const std::string url_;
  const std::string remote_;  // as rclone calls it
  const std::filesystem::path folder_;
  MirrorCounts& counts_;
  std::array<std::mutex, 64> mutexes_;  // by name, held while a model is fetched; as few for any number of names
};

// Those of all repositories that are in object storage.
class Mirrors {
 public:
  // Takes `repositories` as they were given, folders and URLs. Mirrors lie in `folder`, each in one of its own by its
  // URL; or, if that is empty, in a new folder for temporary files, which goes with this.
  static absl::StatusOr<std::unique_ptr<Mirrors>> Open(const std::vector<std::string>& repositories,
                                                       const std::filesystem::path& folder);
  Mirrors(const Mirrors&) = delete;
  Mirrors& operator=(const Mirrors&) = delete;

  bool empty() const { return mirrors_.empty(); }
  // The folders of all repositories, as many as there were and in their order.
  const std::vector<std::filesystem::path>& roots() const { return roots_; }
  const MirrorCounts& counts() const { return counts_; }

  // Mirror's, of each. The first error.
  absl::Status FindModels(const std::stop_token& stop);
  absl::Status Fetch(const std::string& model, const std::stop_token& stop);
  absl::Status FetchAll(const std::stop_token& stop);

 private:
  Mirrors() = default;

  MirrorCounts counts_;
  std::vector<std::filesystem::path> roots_;
  std::unique_ptr<TemporaryFolder> temporary_;  // null unless there is one
  std::vector<std::unique_ptr<Mirror>> mirrors_;
};

}  // namespace hearth::server
