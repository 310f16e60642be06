// Regions of POSIX shared memory that clients on this machine have registered: inputs are read from them, outputs
// written to them.
//
// Nothing is mapped: contents are copied by pread and pwrite, so that a client that shrinks its object, at any moment,
// makes its request fail and not the process (a mapping would end in SIGBUS). A region lives until it is unregistered
// and the last request that uses it has ended. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hearth::server {

class SharedRegion {
 public:
  // Takes the descriptor.
  SharedRegion(std::string name, std::string key, uint64_t offset, uint64_t byte_size, int descriptor)
      : name_(std::move(name)), key_(std::move(key)), offset_(offset), byte_size_(byte_size), descriptor_(descriptor) {}
  ~SharedRegion();
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;

  const std::string& name() const { return name_; }
  const std::string& key() const { return key_; }
  uint64_t offset() const { return offset_; }
  uint64_t byte_size() const { return byte_size_; }

  // kInvalidArgument if the region has no such part.
  absl::Status Check(uint64_t offset, uint64_t byte_size) const;
  // Of a part that was checked. kFailedPrecondition where the object is no longer as large as it was. They take time
  // that grows with the size.
  absl::Status Read(uint64_t offset, void* to, size_t bytes) const;
  absl::Status Write(uint64_t offset, const void* from, size_t bytes) const;

 private:
  absl::Status Shrunk() const;

  const std::string name_;
  const std::string key_;
  const uint64_t offset_;  // in the object
  const uint64_t byte_size_;
  const int descriptor_;
};

using SharedRegionPtr = std::shared_ptr<const SharedRegion>;

class SharedRegions {
 public:
  static constexpr size_t kMostRegions = 1024;
  static constexpr size_t kLongestName = 1024;  // bytes

  // Whether regions may be registered.
  explicit SharedRegions(bool allowed) : allowed_(allowed) {}

  bool allowed() const { return allowed_; }
  // Whether there is any.
  bool any() const { return count_ > 0; }

  // Opens the object `key`. kFailedPrecondition if that is not allowed, kAlreadyExists for a name that is taken,
  // kInvalidArgument for a name or key that cannot be, or if the object is smaller than that, kNotFound if it cannot be
  // opened, kResourceExhausted for too many regions.
  absl::Status Register(const std::string& name, const std::string& key, uint64_t offset, uint64_t byte_size);
  // Does nothing if there is no such region.
  void Unregister(const std::string& name);
  void UnregisterAll();

  // kNotFound if there is none.
  absl::StatusOr<SharedRegionPtr> Find(const std::string& name) const;
  std::vector<SharedRegionPtr> List() const;

 private:
  const bool allowed_;
  std::atomic<size_t> count_{0};
  mutable std::mutex mutex_;
  std::map<std::string, SharedRegionPtr> regions_;
};

}  // namespace hearth::server
