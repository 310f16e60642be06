#include "server/api/shared_memory.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/api/device_region.h"
#include "server/api/system_region.h"

namespace hearth::server {
namespace {

std::string Failed(const std::string& name) {
  return absl::StrCat("failed to register shared memory region '", name, "': ");
}

}  // namespace

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

absl::Status SharedRegions::CheckNew(const std::string& name, uint64_t byte_size) const {
  if (!allowed_) {
    return absl::FailedPreconditionError("shared memory of clients is not allowed here (the setting allow_client_shm)");
  }
  if (absl::Status status = CheckRegionText(name, "name", kLongestName); !status.ok()) return status;
  if (byte_size == 0) return absl::InvalidArgumentError(absl::StrCat(Failed(name), "it has no bytes"));
  return absl::OkStatus();
}

absl::Status SharedRegions::Register(const std::string& name, const std::string& key, uint64_t offset,
                                     uint64_t byte_size) {
  if (absl::Status status = CheckNew(name, byte_size); !status.ok()) return status;
  auto region = SystemRegion::Open(name, key, offset, byte_size);
  if (!region.ok()) return region.status();
  return Add(*std::move(region));
}

absl::Status SharedRegions::RegisterDevice(const std::string& name, int64_t device, const std::string& handle,
                                           uint64_t byte_size) {
  if (absl::Status status = CheckNew(name, byte_size); !status.ok()) return status;
  if (open_ == nullptr) {
    return absl::UnimplementedError(absl::StrCat(Failed(name), "models are not on a GPU here (the setting device)"));
  }
  if (byte_size > INT64_MAX) return absl::InvalidArgumentError(absl::StrCat(Failed(name), "no GPU has its bytes"));
  auto memory = open_(device, handle, static_cast<int64_t>(byte_size));
  if (!memory.ok()) {
    return absl::Status(memory.status().code(), absl::StrCat(Failed(name), memory.status().message()));
  }
  return Add(std::make_shared<DeviceRegion>(name, device, *std::move(memory)));
}

absl::Status SharedRegions::Add(SharedRegionPtr region) {
  std::lock_guard lock(mutex_);
  const std::string& name = region->name();
  if (regions_.contains(name)) {
    return absl::AlreadyExistsError(absl::StrCat("shared memory region '", name, "' already in manager"));
  }
  if (regions_.size() >= kMostRegions) {
    return absl::ResourceExhaustedError(
        absl::StrCat(Failed(name), "there are ", kMostRegions, " regions already, which is their bound"));
  }
  regions_.emplace(name, region);
  count_ = regions_.size();
  return absl::OkStatus();
}

void SharedRegions::Unregister(SharedRegion::Kind kind, const std::string& name) {
  SharedRegionPtr last;  // which may take a while to go
  std::lock_guard lock(mutex_);
  const auto found = regions_.find(name);
  if (found == regions_.end() || found->second->kind() != kind) return;
  last = std::move(found->second);
  regions_.erase(found);
  count_ = regions_.size();
}

void SharedRegions::UnregisterAll(SharedRegion::Kind kind) {
  for (const SharedRegionPtr& region : List(kind)) Unregister(kind, region->name());
}

absl::StatusOr<SharedRegionPtr> SharedRegions::Find(const std::string& name) const {
  std::lock_guard lock(mutex_);
  const auto found = regions_.find(name);
  if (found != regions_.end()) return found->second;
  return absl::NotFoundError(absl::StrCat("Unable to find shared memory region: '", name, "'"));
}

std::vector<SharedRegionPtr> SharedRegions::List(SharedRegion::Kind kind) const {
  std::lock_guard lock(mutex_);
  std::vector<SharedRegionPtr> regions;
  for (const auto& [name, region] : regions_) {
    if (region->kind() == kind) regions.push_back(region);
  }
  return regions;
}

}  // namespace hearth::server
