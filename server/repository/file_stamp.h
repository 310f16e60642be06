// Whether files are still what they were: by size, time of change and inode, without reading them. These functions only
// read directories; thread-safe.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace hearth::server {

// Differs from what it was if the file that the path leads to was replaced, or written with its time of change moving
// on. For a file that is not there the reason is the stamp.
std::string FileStamp(const std::filesystem::path& file);

// The stamps of all files that loading a model may read, by model: those in its folder, in its versions' folders and in
// those of data (data_files.h).
// kNotFound if a root cannot be read: nothing is known of its models then.
absl::StatusOr<std::map<std::string, std::string>> StampModels(const std::vector<std::filesystem::path>& roots);

// The models of which one of these files or folders has changed since then, by the file system's clock.
std::set<std::string> ModelsChangedSince(const std::vector<std::filesystem::path>& roots,
                                         std::chrono::system_clock::time_point then);

}  // namespace hearth::server
