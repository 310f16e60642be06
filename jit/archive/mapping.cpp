#include "jit/archive/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <utility>

namespace hearth {

class Mapping::File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

namespace {

[[noreturn]] void ThrowFileError(const std::string& name, const std::string& what, int error_number) {
  throw FileError(name + ": " + what + ": " + std::generic_category().message(error_number), error_number);
}

// Memory that is at least this large is asked for in huge pages, which are quicker to fill and to walk.
constexpr size_t kHugePage = size_t{2} << 20;

void* MapOrThrow(size_t size, int flags, int fd, const std::string& name) {
  void* region = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | flags, fd, 0);
  if (region == MAP_FAILED) ThrowFileError(name, "cannot be mapped", errno);
  return region;
}

}  // namespace

Mapping::Mapping(void* region, size_t region_size, char* data, size_t size, std::string name)
    : region_(region), region_size_(region_size), data_(data), size_(size), name_(std::move(name)) {}

Mapping::~Mapping() {
  if (region_) munmap(region_, region_size_);
}

std::shared_ptr<Mapping> Mapping::Allocate(size_t size, const std::string& name) {
  if (size == 0) return std::shared_ptr<Mapping>(new Mapping(nullptr, 0, nullptr, 0, name));
  // Room to begin on a huge page's boundary.
  const bool huge = size >= kHugePage;
  const size_t region_size = huge ? size + kHugePage : size;
  void* region = MapOrThrow(region_size, MAP_ANONYMOUS, -1, name);
  auto* data = static_cast<char*>(region);
  if (huge) {
    data += (kHugePage - reinterpret_cast<uintptr_t>(region) % kHugePage) % kHugePage;
    madvise(data, size, MADV_HUGEPAGE);  // a wish: small pages do as well
  }
  return std::shared_ptr<Mapping>(new Mapping(region, region_size, data, size, name));
}

std::shared_ptr<const Mapping> Mapping::Open(const std::string& path, Mode mode) {
  // Not blocking on a pipe that nobody writes to; regular files ignore the flag.
  auto file = std::make_unique<const File>(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file->get() < 0) ThrowFileError(path, "cannot be opened", errno);
  struct stat status;
  if (fstat(file->get(), &status) != 0) ThrowFileError(path, "cannot be examined", errno);
  if (!S_ISREG(status.st_mode)) {
    const bool directory = S_ISDIR(status.st_mode);
    throw FileError(path + ": " + (directory ? "is a directory" : "is not a regular file"),
                    directory ? EISDIR : EINVAL);
  }
  const size_t size = static_cast<size_t>(status.st_size);
  if (mode == Mode::kInPlace && size > 0) {
    void* region = MapOrThrow(size, 0, file->get(), path);
    return std::shared_ptr<const Mapping>(new Mapping(region, size, static_cast<char*>(region), size, path));
  }
  const std::shared_ptr<Mapping> copy = Allocate(size, path);
  copy->file_ = std::move(file);
  return copy;
}

void Mapping::Fill(uint64_t begin, uint64_t end) const {
  if (!file_) return;
  while (begin < end) {
    const ssize_t count = pread(file_->get(), data_ + begin, end - begin, static_cast<off_t>(begin));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) ThrowFileError(name_, "cannot be read", errno);
    if (count == 0) throw ArchiveError(name_ + ": the file became shorter while it was read");
    begin += static_cast<uint64_t>(count);
  }
}

void Mapping::ReadAhead(uint64_t begin, uint64_t size) const {
  if (file_) posix_fadvise(file_->get(), static_cast<off_t>(begin), static_cast<off_t>(size), POSIX_FADV_WILLNEED);
}

void Mapping::CloseFile() const { file_.reset(); }

std::shared_ptr<const Mapping> Mapping::Copy(std::string_view bytes, const std::string& name) {
  const std::shared_ptr<Mapping> copy = Allocate(bytes.size(), name);
  if (!bytes.empty()) std::memcpy(copy->data_, bytes.data(), bytes.size());
  return copy;
}

}  // namespace hearth
