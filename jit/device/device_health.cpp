#include "jit/device/device_health.h"

#include <utility>

namespace hearth {

DeviceHealth::Finding DeviceHealth::Examine(std::string_view error) {
  if (failed()) return Finding::kFailedBefore;
  std::string reason = probe_();
  if (reason.empty()) return Finding::kSound;
  {
    const std::lock_guard lock(mutex_);
    if (failed()) return Finding::kFailedBefore;
    reason_ = std::move(reason);
    failed_.store(true, std::memory_order_release);
  }
  if (on_failure_) on_failure_(what() + "\nseen first by what ended with: " + std::string(error));
  return Finding::kFailsNow;
}

std::string DeviceHealth::what() const {
  const std::lock_guard lock(mutex_);
  return device_.str() + " has failed and cannot be used until the process is started anew: " + reason_;
}

}  // namespace hearth
