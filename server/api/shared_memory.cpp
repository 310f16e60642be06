#include "server/api/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hearth::server {
namespace {

absl::Status CheckName(const std::string& text, const char* what, size_t longest) {
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

}  // namespace

SharedRegion::~SharedRegion() { close(descriptor_); }

absl::Status SharedRegion::Check(uint64_t offset, uint64_t byte_size) const {
  if (offset > byte_size_) {
    return absl::InvalidArgumentError(absl::StrCat("Invalid offset for shared memory region: '", name_, "'"));
  }
  if (byte_size > byte_size_ - offset) {
    return absl::InvalidArgumentError(
        absl::StrCat("Invalid offset + byte size for shared memory region: '", name_, "'"));
  }
  return absl::OkStatus();
}

absl::Status SharedRegion::Shrunk() const {
  return absl::FailedPreconditionError(
      absl::StrCat("the shared memory object of region '", name_, "' is smaller than when it was registered"));
}

absl::Status SharedRegion::Read(uint64_t offset, void* to, size_t bytes) const {
  char* at = static_cast<char*>(to);
  auto from = static_cast<off_t>(offset_ + offset);
  while (bytes > 0) {
    const ssize_t count = pread(descriptor_, at, bytes, from);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Shrunk();
    at += count;
    from += count;
    bytes -= static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

absl::Status SharedRegion::Write(uint64_t offset, const void* from, size_t bytes) const {
  struct stat object;
  auto to = static_cast<off_t>(offset_ + offset);
  // A write beyond the end would make the object larger again.
  if (fstat(descriptor_, &object) != 0 || object.st_size < to + static_cast<off_t>(bytes)) return Shrunk();
  const char* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t count = pwrite(descriptor_, at, bytes, to);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("cannot write to shared memory region '", name_, "': ", std::generic_category().message(errno)));
    }
    at += count;
    to += count;
    bytes -= static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

absl::Status SharedRegions::Register(const std::string& name, const std::string& key, uint64_t offset,
                                     uint64_t byte_size) {
  if (!allowed_) {
    return absl::FailedPreconditionError("shared memory of clients is not allowed here (the setting allow_client_shm)");
  }
  absl::Status status = CheckName(name, "name", kLongestName);
  if (status.ok()) status = CheckName(key, "key", NAME_MAX);
  if (!status.ok()) return status;
  const std::string failed = absl::StrCat("failed to register shared memory region '", name, "': ");
  if (byte_size == 0) return absl::InvalidArgumentError(absl::StrCat(failed, "it has no bytes"));

  const int descriptor = shm_open(key.c_str(), O_RDWR | O_CLOEXEC, 0);
  if (descriptor < 0) {
    return absl::NotFoundError(
        absl::StrCat("Unable to open shared memory region: '", key, "': ", std::generic_category().message(errno)));
  }
  const auto region = std::make_shared<SharedRegion>(name, key, offset, byte_size, descriptor);
  struct stat object;
  if (fstat(descriptor, &object) != 0 || !S_ISREG(object.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat("Invalid shared memory region: '", key, "'"));
  }
  const auto size = static_cast<uint64_t>(object.st_size);
  if (offset > size || byte_size > size - offset) {
    return absl::InvalidArgumentError(absl::StrCat(failed, "invalid args: the object '", key, "' has ", size,
                                                   " bytes, not ", byte_size, " from byte ", offset, " on"));
  }

  std::lock_guard lock(mutex_);
  if (regions_.contains(name)) {
    return absl::AlreadyExistsError(absl::StrCat("shared memory region '", name, "' already in manager"));
  }
  if (regions_.size() >= kMostRegions) {
    return absl::ResourceExhaustedError(
        absl::StrCat(failed, "there are ", kMostRegions, " regions already, which is their bound"));
  }
  regions_.emplace(name, region);
  count_ = regions_.size();
  return absl::OkStatus();
}

void SharedRegions::Unregister(const std::string& name) {
  std::lock_guard lock(mutex_);
  regions_.erase(name);
  count_ = regions_.size();
}

void SharedRegions::UnregisterAll() {
  std::lock_guard lock(mutex_);
  regions_.clear();
  count_ = 0;
}

absl::StatusOr<SharedRegionPtr> SharedRegions::Find(const std::string& name) const {
  std::lock_guard lock(mutex_);
  const auto found = regions_.find(name);
  if (found != regions_.end()) return found->second;
  return absl::NotFoundError(absl::StrCat("Unable to find shared memory region: '", name, "'"));
}

std::vector<SharedRegionPtr> SharedRegions::List() const {
  std::vector<SharedRegionPtr> regions;
  std::lock_guard lock(mutex_);
  for (const auto& [name, region] : regions_) regions.push_back(region);
  return regions;
}

}  // namespace hearth::server
