// Files that a folder keeps from one process to the next, up to a number of bytes. Any thread; other processes may add
// to the folder and delete from it meanwhile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace hearth {

// Deletes the files of this extension (with its dot) that were written or touched first, until the others take no more
// than `most_bytes`, and what NewFile began for such names over an hour ago and never finished. What cannot be looked
// at or deleted stays; nothing is thrown for it.
void KeepNewest(const std::filesystem::path& folder, std::string_view extension, uint64_t most_bytes);

}  // namespace hearth
