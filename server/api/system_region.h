// A region of a POSIX shared memory object.
//
// Nothing is mapped: contents are copied by pread and pwrite, so that a client that shrinks its object, at any moment,
// makes its request fail and not the process (a mapping would end in SIGBUS).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "server/api/shared_memory.h"

namespace hearth::server {

// kInvalidArgument if a name or key is empty, too long or has a zero byte.
absl::Status CheckRegionText(const std::string& text, const char* what, size_t longest);

class SystemRegion final : public SharedRegion {
 public:
  // See SharedRegions::Register.
  static absl::StatusOr<std::shared_ptr<const SystemRegion>> Open(const std::string& name, const std::string& key,
                                                                  uint64_t offset, uint64_t byte_size);
  // Takes the descriptor.
  SystemRegion(std::string name, std::string key, uint64_t offset, uint64_t byte_size, int descriptor)
      : SharedRegion(Kind::kSystem, std::move(name), byte_size),
        key_(std::move(key)),
        offset_(offset),
        descriptor_(descriptor) {}
  ~SystemRegion() override;

  const std::string& key() const { return key_; }
  uint64_t offset() const { return offset_; }

  // kFailedPrecondition where the object is no longer as large as it was.
  absl::StatusOr<at::Tensor> Read(uint64_t offset, uint64_t byte_size) const override;
  absl::Status Write(uint64_t offset, const at::Tensor& bytes) const override;

 private:
  absl::Status Shrunk() const;

  const std::string key_;
  const uint64_t offset_;  // in the object
  const int descriptor_;
};

}  // namespace hearth::server
