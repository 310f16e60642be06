#include "server/api/system_region.h"

#include <ATen/ops/empty.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace hearth::server {

absl::Status CheckRegionText(const std::string& text, const char* what, size_t longest) {
  if (text.empty()) return absl::InvalidArgumentError(absl::StrCat("a shared memory region needs a ", what));
  if (text.size() > longest) {
    return absl::InvalidArgumentError(
        absl::StrCat("the ", what, " of a shared memory region has ", text.size(), " bytes; it may have ", longest));
  }
  // It would end here for the system.
  if (text.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat("the ", what, " of a shared memory region has a zero byte"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const SystemRegion>> SystemRegion::Open(const std::string& name, const std::string& key,
                                                                       uint64_t offset, uint64_t byte_size) {
  if (absl::Status status = CheckRegionText(key, "key", NAME_MAX); !status.ok()) return status;
  const int descriptor = shm_open(key.c_str(), O_RDWR | O_CLOEXEC, 0);
  if (descriptor < 0) {
    return absl::NotFoundError(
        absl::StrCat("Unable to open shared memory region: '", key, "': ", std::generic_category().message(errno)));
  }
  auto region = std::make_shared<const SystemRegion>(name, key, offset, byte_size, descriptor);
  struct stat object;
  if (fstat(descriptor, &object) != 0 || !S_ISREG(object.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat("Invalid shared memory region: '", key, "'"));
  }
  const auto size = static_cast<uint64_t>(object.st_size);
  if (offset > size || byte_size > size - offset) {
    return absl::InvalidArgumentError(absl::StrCat("failed to register shared memory region '", name,
                                                   "': invalid args: the object '", key, "' has ", size, " bytes, not ",
                                                   byte_size, " from byte ", offset, " on"));
  }
  return region;
}

SystemRegion::~SystemRegion() { close(descriptor_); }

absl::Status SystemRegion::Shrunk() const {
  return absl::FailedPreconditionError(
      absl::StrCat("the shared memory object of region '", name(), "' is smaller than when it was registered"));
}

absl::StatusOr<at::Tensor> SystemRegion::Read(uint64_t offset, uint64_t byte_size) const {
  auto left = static_cast<size_t>(byte_size);
  // Memory of its own, which counts as any tensor's does.
  at::Tensor bytes = at::empty({static_cast<int64_t>(left)}, at::TensorOptions(at::kByte));
  char* at = static_cast<char*>(bytes.mutable_data_ptr());
  auto from = static_cast<off_t>(offset_ + offset);
  while (left > 0) {
    const ssize_t count = pread(descriptor_, at, left, from);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Shrunk();
    at += count;
    from += count;
    left -= static_cast<size_t>(count);
  }
  return bytes;
}

absl::Status SystemRegion::Write(uint64_t offset, const at::Tensor& bytes) const {
  struct stat object;
  auto to = static_cast<off_t>(offset_ + offset);
  const at::Tensor here = bytes.cpu();
  size_t left = here.nbytes();
  // A write beyond the end would make the object larger again.
  if (fstat(descriptor_, &object) != 0 || object.st_size < to + static_cast<off_t>(left)) return Shrunk();
  const char* at = static_cast<const char*>(here.const_data_ptr());
  while (left > 0) {
    const ssize_t count = pwrite(descriptor_, at, left, to);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      return absl::FailedPreconditionError(absl::StrCat("cannot write to shared memory region '", name(),
                                                        "': ", std::generic_category().message(errno)));
    }
    at += count;
    to += count;
    left -= static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

}  // namespace hearth::server
