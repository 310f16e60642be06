// How much memory this process may use: the machine's, or less where control groups set a limit (a service's MemoryMax,
// a container's).
#pragma once

#include <cstdint>
#include <filesystem>

namespace hearth {

// Bytes. `root` is where /proc and /sys are.
int64_t UsableMemory(const std::filesystem::path& root = "/");

}  // namespace hearth
