// What object storage says it holds.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace hearth::server {

struct StoredFile {
  int64_t size = 0;  // bytes
  std::chrono::sys_time<std::chrono::nanoseconds> changed{};

  bool operator==(const StoredFile&) const = default;
};

// By path, parts divided by "/".
using Listing = std::map<std::string, StoredFile>;

// Reads what `rclone lsjson --files-only` writes: an array of objects with Path, Size and ModTime, whose other members
// are ignored. Paths that cannot lie in a folder (absolute, with "..", empty parts or control characters, or hidden)
// are left out: nothing may be written there. kInvalidArgument for what is no such array.
absl::StatusOr<Listing> ReadListing(std::string_view json);

// Reads what `rclone lsjson --dirs-only` writes, of which it takes Path, and leaves out what ReadListing does.
absl::StatusOr<std::vector<std::string>> ReadFolders(std::string_view json);

}  // namespace hearth::server
