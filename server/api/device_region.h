// A region of a GPU's memory, which a client shares by CUDA's handle.
//
// It is there for both at once: an input is read when its run begins, which copies it, and an output is copied there
// before the answer is sent. What a client does to the memory meanwhile is in what it gets.
#pragma once

#include <cstdint>
#include <string>

#include "server/api/shared_memory.h"

namespace hearth::server {

class DeviceRegion final : public SharedRegion {
 public:
  // `memory`: bytes on the device of that number, one-dimensional.
  DeviceRegion(std::string name, int64_t device, at::Tensor memory)
      : SharedRegion(Kind::kDevice, std::move(name), memory.nbytes()), device_(device), memory_(std::move(memory)) {}

  int64_t device() const { return device_; }

  absl::StatusOr<at::Tensor> Read(uint64_t offset, uint64_t byte_size) const override {
    return Part(offset, byte_size);
  }
  absl::Status Write(uint64_t offset, const at::Tensor& bytes) const override;

 private:
  at::Tensor Part(uint64_t offset, uint64_t byte_size) const {
    return memory_.narrow(0, static_cast<int64_t>(offset), static_cast<int64_t>(byte_size));
  }

  const int64_t device_;
  const at::Tensor memory_;
};

}  // namespace hearth::server
