#include "jit/support/kept_files.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <system_error>
#include <vector>

#include "jit/support/new_file.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

// What a process that ended while it wrote has left behind.
constexpr auto kOldUnfinished = std::chrono::hours(1);

struct KeptFile {
  fs::path path;
  uint64_t bytes;
  fs::file_time_type written;
};

}  // namespace

void KeepNewest(const fs::path& folder, std::string_view extension, uint64_t most_bytes) {
  const std::string unfinished = std::string(extension) + NewFile::kUnfinishedMark;
  std::vector<KeptFile> files;
  uint64_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    const KeptFile file{it->path(), it->file_size(gone), it->last_write_time(gone)};
    if (gone) continue;
    if (file.path.extension() == extension) {
      bytes += file.bytes;
      files.push_back(file);
    } else if (file.path.filename().string().find(unfinished) != std::string::npos &&
               file.written < fs::file_time_type::clock::now() - kOldUnfinished) {
      fs::remove(file.path, gone);
    }
  }
  std::ranges::sort(files, {}, &KeptFile::written);
  for (auto file = files.begin(); file != files.end() && bytes > most_bytes; ++file) {
    fs::remove(file->path, error);
    bytes -= file->bytes;
  }
}

}  // namespace hearth
