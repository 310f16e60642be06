#include "server/api/device_region.h"

#include <c10/core/impl/VirtualGuardImpl.h>

namespace hearth::server {

absl::Status DeviceRegion::Write(uint64_t offset, const at::Tensor& bytes) const {
  Part(offset, bytes.nbytes()).copy_(bytes);
  // On a GPU the copy has only been asked for.
  const c10::Device device = memory_.device();
  if (!device.is_cpu()) c10::impl::VirtualGuardImpl(device.type()).getStream(device).synchronize();
  return absl::OkStatus();
}

}  // namespace hearth::server
