#include "server/security/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace hearth::server {
namespace {

absl::Status CannotRead(const std::filesystem::path& file, const std::string& reason) {
  return absl::FailedPreconditionError(absl::StrCat("cannot read ", file.string(), ": ", reason));
}

absl::Status CannotRead(const std::filesystem::path& file, int error_number) {
  return CannotRead(file, std::generic_category().message(error_number));
}

}  // namespace

absl::StatusOr<std::string> ReadTextFile(const std::filesystem::path& file, size_t most_bytes) {
  // Not blocking on a pipe that nobody writes to; regular files ignore the flag.
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return CannotRead(file, errno);
  const auto closing = absl::MakeCleanup([descriptor] { close(descriptor); });
  struct stat entry;
  if (fstat(descriptor, &entry) != 0) return CannotRead(file, errno);
  if (!S_ISREG(entry.st_mode)) return CannotRead(file, "it is not a regular file");
  // One byte more than it may have tells that it is too large, however large it is.
  std::string text(most_bytes + 1, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = read(descriptor, text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return CannotRead(file, errno);
    if (count == 0) break;
    size += static_cast<size_t>(count);
  }
  if (size > most_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(file.string(), " has more than ", most_bytes, " bytes"));
  }
  text.resize(size);
  return text;
}

}  // namespace hearth::server
