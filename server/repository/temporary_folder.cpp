#include "server/repository/temporary_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace hearth::server {
namespace fs = std::filesystem;
namespace {

// Each lost to another process that looks for abandoned folders at this very moment.
constexpr int kTries = 16;

int OpenFolder(const fs::path& path) { return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }

enum class Lock : uint8_t { kTaken, kHeldByOther, kNotOffered };

Lock TryLock(int descriptor) {
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) return Lock::kTaken;
  return errno == EWOULDBLOCK ? Lock::kHeldByOther : Lock::kNotOffered;
}

bool IsRemoved(int descriptor) {
  struct stat entry;
  return fstat(descriptor, &entry) != 0 || entry.st_nlink == 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TemporaryFolder>> TemporaryFolder::Make(const fs::path& within,
                                                                       std::string_view prefix) {
  const auto fail = [&](int error) {
    return absl::FailedPreconditionError(
        absl::StrCat("no folder can be made in ", within.string(), ": ", std::generic_category().message(error)));
  };
  for (int i = 0; i < kTries; ++i) {
    std::string path = (within / prefix).string() + "XXXXXX";
    if (mkdtemp(path.data()) == nullptr) return fail(errno);
    const int descriptor = OpenFolder(path);
    if (descriptor < 0 && errno != ENOENT) return fail(errno);
    if (descriptor < 0) continue;
    if (TryLock(descriptor) != Lock::kHeldByOther && !IsRemoved(descriptor)) {
      return std::unique_ptr<TemporaryFolder>(new TemporaryFolder(std::move(path), descriptor));
    }
    close(descriptor);
  }
  return fail(EAGAIN);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  close(descriptor_);
}

void RemoveAbandonedFolders(const fs::path& within, std::string_view prefix) {
  std::error_code error;
  for (fs::directory_iterator it(within, error), end; !error && it != end; it.increment(error)) {
    if (!it->path().filename().string().starts_with(prefix)) continue;
    const int descriptor = OpenFolder(it->path());
    if (descriptor < 0) continue;
    const absl::Cleanup close_it = [descriptor] { close(descriptor); };
    struct stat entry;
    if (fstat(descriptor, &entry) != 0 || entry.st_uid != geteuid() || TryLock(descriptor) != Lock::kTaken) continue;
    std::error_code ignored;
    fs::remove_all(it->path(), ignored);
  }
}

}  // namespace hearth::server
