#include "server/repository/config_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "server/repository/config_limits.h"

namespace hearth::server {
namespace {

absl::Status CannotRead(const std::filesystem::path& file, const std::string& reason) {
  return absl::FailedPreconditionError(absl::StrCat("cannot read ", file.string(), ": ", reason));
}

absl::Status CannotRead(const std::filesystem::path& file, int error_number) {
  return CannotRead(file, std::generic_category().message(error_number));
}

}  // namespace

absl::StatusOr<std::optional<std::string>> ReadSmallFile(const std::filesystem::path& file, size_t most) {
  struct stat entry;
  if (lstat(file.c_str(), &entry) != 0) {
    if (errno == ENOENT) return std::nullopt;
    return CannotRead(file, errno);
  }
  // Not blocking on a pipe that nobody writes to; regular files ignore the flag.
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return CannotRead(file, errno);
  const auto closing = absl::MakeCleanup([descriptor] { close(descriptor); });
  if (fstat(descriptor, &entry) != 0) return CannotRead(file, errno);
  if (!S_ISREG(entry.st_mode)) return CannotRead(file, "it is not a regular file");
  // One byte more than it may have tells that it is too large, however large it is.
  std::string text(most + 1, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = read(descriptor, text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return CannotRead(file, errno);
    if (count == 0) break;
    size += static_cast<size_t>(count);
  }
  text.resize(size);
  if (size <= most) return text;
  return absl::InvalidArgumentError(absl::StrCat(file.string(), " has more than ", most, " bytes"));
}

absl::StatusOr<std::optional<std::string>> ReadConfigFile(const std::filesystem::path& file) {
  return ReadSmallFile(file, kMostConfigBytes);
}

}  // namespace hearth::server
