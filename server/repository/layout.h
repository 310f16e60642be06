// How models lie on disk, which is Triton's way:
//
//   REPOSITORY/NAME/config.pbtxt         optional
//   REPOSITORY/NAME/VERSION/model.pt     VERSION is a positive number without leading zeros
//
// Any of these may be a symbolic link, as long as it stays within its repository. Everything else in these folders is
// ignored. These functions only read directories; thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hearth::server {

// kInvalidArgument unless `name` can be the name of one folder: not empty, not hidden, no separator, no control
// character, at most 255 bytes. Names come from clients: nothing else may be joined to a path.
absl::Status CheckModelName(std::string_view name);

// The same for the file inside a version's folder.
absl::Status CheckFileName(std::string_view name);

// The version whose folder has that name; nothing if none has.
std::optional<int64_t> VersionOf(std::string_view folder_name);

// Names of the folders under `repository` that can be models, sorted. kNotFound if it is not a directory that can be
// read.
absl::StatusOr<std::vector<std::string>> ListModels(const std::filesystem::path& repository);

// Versions under a model's folder, ascending; empty if there are none.
std::vector<int64_t> ListVersions(const std::filesystem::path& model);

// Of a version's archive in a model's folder.
std::filesystem::path ArchivePath(const std::filesystem::path& model, int64_t version, std::string_view file);

// Where `path` really lies, every link followed: absolute, without links. kFailedPrecondition if that is in none of the
// repositories. What does not exist is given back as it is.
absl::StatusOr<std::filesystem::path> ResolveWithin(const std::vector<std::filesystem::path>& repositories,
                                                    const std::filesystem::path& path);

}  // namespace hearth::server
