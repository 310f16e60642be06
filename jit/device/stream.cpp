#include "jit/device/stream.h"

#include <c10/core/impl/VirtualGuardImpl.h>

namespace hearth {

std::shared_ptr<const c10::Stream> StreamPool::Take() {
  if (device_.is_cpu()) return nullptr;
  const auto take = [&] {
    std::lock_guard lock(mutex_);
    if (free_.empty()) return c10::impl::VirtualGuardImpl(device_.type()).getStreamFromGlobalPool(device_);
    const c10::Stream stream = free_.back();
    free_.pop_back();
    return stream;
  };
  return {new c10::Stream(take()), [pool = shared_from_this()](const c10::Stream* stream) {
            {
              std::lock_guard lock(pool->mutex_);
              pool->free_.push_back(*stream);
            }
            delete stream;
          }};
}

std::shared_ptr<const c10::Stream> DefaultStream(c10::Device device) {
  if (device.is_cpu()) return nullptr;
  return std::make_shared<const c10::Stream>(c10::impl::VirtualGuardImpl(device.type()).getDefaultStream(device));
}

void WaitForDevice(c10::Device device) {
  if (!device.is_cpu()) c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
}

}  // namespace hearth
