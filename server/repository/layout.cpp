#include "server/repository/layout.h"

#include <algorithm>
#include <system_error>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace hearth::server {
namespace fs = std::filesystem;
namespace {

constexpr size_t kLongestName = 255;

absl::Status CheckName(std::string_view kind, std::string_view name) {
  const char* problem = nullptr;
  if (name.empty()) {
    problem = "is empty";
  } else if (name.size() > kLongestName) {
    problem = "is longer than 255 bytes";
  } else if (name.front() == '.') {
    problem = "begins with a dot";
  } else if (name.find_first_of("/\\") != std::string_view::npos) {
    problem = "holds a path separator";
  } else if (std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; })) {
    problem = "holds a control character";
  }
  if (problem == nullptr) return absl::OkStatus();
  const absl::string_view shown(name.data(), std::min(name.size(), kLongestName));
  return absl::InvalidArgumentError(
      absl::StrCat(absl::string_view(kind.data(), kind.size()), " '", absl::CHexEscape(shown), "' ", problem));
}

}  // namespace

absl::Status CheckModelName(std::string_view name) { return CheckName("model name", name); }

absl::Status CheckFileName(std::string_view name) { return CheckName("file name", name); }

absl::StatusOr<std::vector<std::string>> ListModels(const fs::path& repository) {
  std::error_code error;
  fs::directory_iterator entries(repository, error);
  if (error) {
    return absl::NotFoundError(
        absl::StrCat("cannot read the model repository ", repository.string(), ": ", error.message()));
  }
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : entries) {
    std::string name = entry.path().filename().string();
    if (entry.is_directory(error) && CheckModelName(name).ok()) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<int64_t> VersionOf(std::string_view folder_name) {
  int64_t version = 0;
  const bool is_number =
      !folder_name.empty() && folder_name.front() >= '1' && folder_name.front() <= '9' &&
      std::all_of(folder_name.begin(), folder_name.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
      absl::SimpleAtoi(absl::string_view(folder_name.data(), folder_name.size()), &version);
  return is_number ? std::optional(version) : std::nullopt;
}

std::vector<int64_t> ListVersions(const fs::path& model) {
  std::error_code error;
  std::vector<int64_t> versions;
  for (const fs::directory_entry& entry : fs::directory_iterator(model, error)) {
    const auto version = VersionOf(entry.path().filename().string());
    if (version && entry.is_directory(error)) versions.push_back(*version);
  }
  std::sort(versions.begin(), versions.end());
  return versions;
}

fs::path ArchivePath(const fs::path& model, int64_t version, std::string_view file) {
  return model / std::to_string(version) / file;
}

absl::StatusOr<fs::path> ResolveWithin(const std::vector<fs::path>& repositories, const fs::path& path) {
  std::error_code error;
  fs::path real = fs::canonical(path, error);
  if (error) return path;
  for (const fs::path& repository : repositories) {
    const fs::path root = fs::canonical(repository, error);
    if (!error && std::mismatch(root.begin(), root.end(), real.begin(), real.end()).first == root.end()) return real;
  }
  return absl::FailedPreconditionError(
      absl::StrCat(path.string(), " is a link that leads out of the model repository, to ", real.string()));
}

}  // namespace hearth::server
