#include "jit/device/device_health.h"

#include <utility>

namespace hearth {

DeviceHealth::Finding DeviceHealth::Examine() {
  if (failed()) return Finding::kFailedBefore;
  std::string error = probe_();
  if (error.empty()) return Finding::kSound;
  {
    const std::lock_guard lock(mutex_);
    if (failed()) return Finding::kFailedBefore;
    error_ = std::move(error);
    failed_.store(true, std::memory_order_release);
  }
  if (on_failure_) on_failure_(what());
  return Finding::kFailsNow;
}

std::string DeviceHealth::what() const {
  const std::lock_guard lock(mutex_);
  return device_.str() + " has failed and cannot be used until the process is started anew: " + error_;
}

}  // namespace hearth
