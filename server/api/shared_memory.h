// Regions of memory that clients on this machine share and have registered: inputs are read from them, outputs written
// to them. POSIX shared memory (system_region.h) or a GPU's memory (device_region.h). A region lives until it is
// unregistered and the last request that uses it has ended. Thread-safe.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
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
  enum class Kind : uint8_t { kSystem, kDevice };

  SharedRegion(Kind kind, std::string name, uint64_t byte_size)
      : kind_(kind), name_(std::move(name)), byte_size_(byte_size) {}
  virtual ~SharedRegion() = default;
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;

  Kind kind() const { return kind_; }
  const std::string& name() const { return name_; }
  uint64_t byte_size() const { return byte_size_; }

  // kInvalidArgument if the region has no such part.
  absl::Status Check(uint64_t offset, uint64_t byte_size) const;

  // The bytes of a part that was checked, one-dimensional: a copy on the CPU, or the region's own on its device. Takes
  // time that grows with the size.
  virtual absl::StatusOr<at::Tensor> Read(uint64_t offset, uint64_t byte_size) const = 0;
  // From where they lie, into a part that was checked; the part has them when this returns. Likewise.
  virtual absl::Status Write(uint64_t offset, const at::Tensor& bytes) const = 0;

 private:
  const Kind kind_;
  const std::string name_;
  const uint64_t byte_size_;
};

using SharedRegionPtr = std::shared_ptr<const SharedRegion>;

class SharedRegions {
 public:
  static constexpr size_t kMostRegions = 1024;
  static constexpr size_t kLongestName = 1024;  // bytes

  // Gives so many bytes of a GPU's memory by their handle, as Runtime::OpenSharedMemory.
  using OpenDeviceMemory =
      std::function<absl::StatusOr<at::Tensor>(int64_t device, const std::string& handle, int64_t byte_size)>;

  // Whether regions may be registered; `open` may be null where models are on no device.
  explicit SharedRegions(bool allowed, OpenDeviceMemory open = nullptr) : allowed_(allowed), open_(std::move(open)) {}

  bool allowed() const { return allowed_; }
  bool device_allowed() const { return allowed_ && open_ != nullptr; }
  // Whether there is any.
  bool any() const { return count_ > 0; }

  // Opens the object `key`. kFailedPrecondition if that is not allowed, kAlreadyExists for a name that is taken,
  // kInvalidArgument for a name or key that cannot be, or if the object is smaller than that, kNotFound if it cannot be
  // opened, kResourceExhausted for too many regions.
  absl::Status Register(const std::string& name, const std::string& key, uint64_t offset, uint64_t byte_size);
  // The same of memory of device number `device`. kInvalidArgument for a handle that cannot be opened, kUnimplemented
  // where models are on no device.
  absl::Status RegisterDevice(const std::string& name, int64_t device, const std::string& handle, uint64_t byte_size);
  // Does nothing if there is no such region of that kind.
  void Unregister(SharedRegion::Kind kind, const std::string& name);
  void UnregisterAll(SharedRegion::Kind kind);

  // kNotFound if there is none.
  absl::StatusOr<SharedRegionPtr> Find(const std::string& name) const;
  std::vector<SharedRegionPtr> List(SharedRegion::Kind kind) const;

 private:
  // Whether one of that name may be registered.
  absl::Status CheckNew(const std::string& name, uint64_t byte_size) const;
  absl::Status Add(SharedRegionPtr region);

  const bool allowed_;
  const OpenDeviceMemory open_;
  std::atomic<size_t> count_{0};
  mutable std::mutex mutex_;
  std::map<std::string, SharedRegionPtr> regions_;
};

}  // namespace hearth::server
