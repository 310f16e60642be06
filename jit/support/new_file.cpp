#include "jit/support/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "jit/support/file_error.h"

namespace hearth {
namespace {

[[noreturn]] void FailToWrite(const std::string& path, int error_number) {
  throw FileError(path + ": cannot be written: " + std::generic_category().message(error_number), error_number);
}

}  // namespace

NewFile::NewFile(const std::string& path, mode_t mode) : path_(path) {
  struct stat status;
  const bool in_place = stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  if (in_place) {
    fd_ = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    static std::atomic<int> count{0};
    temporary_ = path + kUnfinishedMark + std::to_string(getpid()) + "-" + std::to_string(count.fetch_add(1));
    fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  }
  if (fd_ < 0) {
    temporary_.clear();
    FailToWrite(path, errno);
  }
}

NewFile::~NewFile() {
  if (fd_ >= 0) close(fd_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void NewFile::Append(const char* data, size_t size) {
  while (size > 0) {
    const ssize_t written = write(fd_, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) FailToWrite(path_, errno);
    data += written;
    size -= static_cast<size_t>(written);
  }
}

void NewFile::Finish() {
  const int closed = close(fd_);
  fd_ = -1;
  if (closed != 0) FailToWrite(path_, errno);
  if (temporary_.empty()) return;
  if (rename(temporary_.c_str(), path_.c_str()) != 0) FailToWrite(path_, errno);
  temporary_.clear();
}

}  // namespace hearth
