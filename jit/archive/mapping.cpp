#include "jit/archive/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace hearth {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

[[noreturn]] void ThrowFileError(const std::string& name, const std::string& what, int error_number) {
  throw FileError(name + ": " + what + ": " + std::generic_category().message(error_number), error_number);
}

void WriteAll(int fd, std::string_view bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      ThrowFileError(name, "cannot be copied to memory", errno);
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

// Appends `size` bytes of `from` to `to` by ways that need no buffer of ours first: within one file system
// copy_file_range may share blocks, sendfile moves pages inside the kernel, and what allows neither is read.
void CopyAll(int from, int to, size_t size, const std::string& name) {
  size_t copied = 0;
  while (copied < size) {
    ssize_t count = copy_file_range(from, nullptr, to, nullptr, size - copied, 0);
    if (count <= 0) count = sendfile(to, from, nullptr, size - copied);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    copied += static_cast<size_t>(count);
  }
  std::string buffer;
  while (copied < size) {
    buffer.resize(size_t{1} << 20);
    const ssize_t count = read(from, buffer.data(), std::min(buffer.size(), size - copied));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) ThrowFileError(name, "cannot be read", errno);
    if (count == 0) throw ArchiveError(name + ": the file became shorter while it was read");
    WriteAll(to, std::string_view(buffer.data(), static_cast<size_t>(count)), name);
    copied += static_cast<size_t>(count);
  }
}

int CreateMemoryFile(const std::string& name) {
  const int fd = memfd_create("hearth-archive", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) ThrowFileError(name, "no memory file can be made for a copy", errno);
  return fd;
}

char* MapPrivately(int fd, size_t size, const std::string& name) {
  if (size == 0) return nullptr;
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) ThrowFileError(name, "cannot be mapped", errno);
  return static_cast<char*>(data);
}

char* SealAndMap(int fd, size_t size, const std::string& name) {
  if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    ThrowFileError(name, "the copy in memory cannot be sealed", errno);
  }
  return MapPrivately(fd, size, name);
}

}  // namespace

Mapping::Mapping(char* data, size_t size, std::string name) : data_(data), size_(size), name_(std::move(name)) {}

Mapping::~Mapping() {
  if (data_) munmap(data_, size_);
}

std::shared_ptr<const Mapping> Mapping::Open(const std::string& path, Mode mode) {
  // Not blocking on a pipe that nobody writes to; regular files ignore the flag.
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) ThrowFileError(path, "cannot be opened", errno);
  struct stat status;
  if (fstat(file.get(), &status) != 0) ThrowFileError(path, "cannot be examined", errno);
  if (!S_ISREG(status.st_mode)) {
    const bool directory = S_ISDIR(status.st_mode);
    throw FileError(path + ": " + (directory ? "is a directory" : "is not a regular file"),
                    directory ? EISDIR : EINVAL);
  }
  const size_t size = static_cast<size_t>(status.st_size);
  char* data = nullptr;
  if (mode == Mode::kInPlace) {
    data = MapPrivately(file.get(), size, path);
  } else {
    const FileDescriptor copy(CreateMemoryFile(path));
    CopyAll(file.get(), copy.get(), size, path);
    data = SealAndMap(copy.get(), size, path);
  }
  return std::shared_ptr<const Mapping>(new Mapping(data, size, path));
}

std::shared_ptr<const Mapping> Mapping::Copy(std::string_view bytes, const std::string& name) {
  const FileDescriptor copy(CreateMemoryFile(name));
  WriteAll(copy.get(), bytes, name);
  return std::shared_ptr<const Mapping>(new Mapping(SealAndMap(copy.get(), bytes.size(), name), bytes.size(), name));
}

}  // namespace hearth
