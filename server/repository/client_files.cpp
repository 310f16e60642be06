#include "server/repository/client_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/repository/data_files.h"
#include "server/repository/layout.h"
#include "server/repository/model_config.h"

namespace hearth::server {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFolderPrefix = "hearth_client_files.";
constexpr size_t kLongestPath = 1024;
constexpr size_t kShownOfPath = 300;
constexpr const char* kExpectedVersion = "with a VERSION that is a positive number without leading zeros";

std::string Shown(std::string_view path) {
  return absl::CHexEscape(absl::string_view(path.data(), std::min(path.size(), kShownOfPath)));
}

absl::Status Refuse(std::string_view path, std::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat("a file of a load should be file:VERSION/NAME, ",
                                                 std::string(expected), "; it is 'file:", Shown(path), "'"));
}

absl::Status CheckPath(const std::string& path) {
  if (path.size() > kLongestPath) return Refuse(path, absl::StrCat("of at most ", kLongestPath, " bytes"));
  const std::vector<std::string> parts = absl::StrSplit(path, '/');
  const bool has_version = VersionOf(parts.front()).has_value();
  const bool is_data = parts.size() == 2 && std::ranges::find(kDataFolders, parts.front()) != kDataFolders.end();
  // What lies in a folder of another name would be found by no load.
  if (parts.size() > 1 && !has_version && !is_data) return Refuse(path, kExpectedVersion);
  if (parts.size() == 1 && has_version) return Refuse(path, "with a NAME");
  for (size_t i = parts.size() > 1 ? 1 : 0; i < parts.size(); ++i) {
    if (const absl::Status status = CheckFileName(parts[i]); !status.ok()) {
      return Refuse(path, absl::StrCat("with a NAME of plain names and '/' between them (", status.message(), ")"));
    }
  }
  if (path == kConfigFile) return Refuse(path, "and the configuration the parameter 'config'");
  return absl::OkStatus();
}

absl::Status WriteFile(const fs::path& path, std::string_view text) {
  const auto fail = [&] { return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path.string())); };
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (descriptor < 0) return fail();
  absl::Cleanup close_it = [descriptor] { close(descriptor); };
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail();
    text.remove_prefix(static_cast<size_t>(written));
  }
  std::move(close_it).Cancel();
  // Some file systems say only now that there was no room.
  return close(descriptor) == 0 ? absl::OkStatus() : fail();
}

absl::Status WriteFiles(const fs::path& folder, const FileContents& files) {
  for (const auto& [path, text] : files) {
    std::error_code error;
    fs::create_directories((folder / path).parent_path(), error);
    if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot make a folder for ", path));
    if (absl::Status status = WriteFile(folder / path, text); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckClientFiles(const FileContents& files) {
  if (files.size() > kMostClientFiles) {
    return absl::InvalidArgumentError(
        absl::StrCat("a load should have at most ", kMostClientFiles, " files; it has ", files.size()));
  }
  for (const auto& [path, text] : files) {
    if (absl::Status status = CheckPath(path); !status.ok()) return status;
    for (size_t end = path.find('/'); end != path.npos; end = path.find('/', end + 1)) {
      if (files.contains(path.substr(0, end))) {
        return Refuse(path, absl::StrCat("in a folder, but '", Shown(path.substr(0, end)), "' is a file, too"));
      }
    }
  }
  const auto is_of_version = [](const auto& file) {
    return VersionOf(file.first.substr(0, file.first.find('/'))).has_value();
  };
  if (!files.empty() && std::ranges::none_of(files, is_of_version)) {
    return Refuse(files.begin()->first, kExpectedVersion);
  }
  return absl::OkStatus();
}

ClientFiles::~ClientFiles() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
  store_->bytes_ -= bytes_;
}

absl::StatusOr<std::shared_ptr<ClientFilesStore>> ClientFilesStore::Open(const fs::path& within, int64_t most_bytes) {
  std::error_code error;
  fs::create_directories(within, error);
  auto root = TemporaryFolder::Make(within, kFolderPrefix);
  if (!root.ok()) {
    return absl::Status(root.status().code(), absl::StrCat("files of clients: ", root.status().message()));
  }
  return std::shared_ptr<ClientFilesStore>(new ClientFilesStore(*std::move(root), most_bytes));
}

void ClientFilesStore::RemoveAbandoned(const fs::path& within) { RemoveAbandonedFolders(within, kFolderPrefix); }

absl::StatusOr<ClientFilesPtr> ClientFilesStore::Write(const FileContents& files) {
  int64_t bytes = 0;
  for (const auto& [path, text] : files) bytes += static_cast<int64_t>(text.size());
  const int64_t before = bytes_.fetch_add(bytes);
  // From here on the folder and the count of bytes go with it.
  const ClientFilesPtr written(new ClientFiles(shared_from_this(), root() / std::to_string(++loads_), bytes));
  if (before + bytes > most_bytes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the files of this load have ", bytes, " bytes; those of all loads may have ", most_bytes_,
                     " (the setting client_files_bytes), of which other models have ", before));
  }
  if (absl::Status status = WriteFiles(written->folder(), files); !status.ok()) {
    return absl::IsResourceExhausted(status) ? status : absl::InternalError(status.message());
  }
  return written;
}

}  // namespace hearth::server
