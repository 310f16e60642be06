// What a runtime has of each of its devices: what its models share there, and nothing that is of another device.
#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jit/device/device_health.h"
#include "jit/device/gpu.h"
#include "jit/device/stream.h"
#include "jit/executor/tier_settings.h"
#include "jit/executor/traffic.h"
#include "jit/runtime.h"
#include "jit/support/disposal_thread.h"

namespace hearth {

// Lives as long as a model on the device.
struct DeviceParts {
  c10::Device device = c10::kCPU;
  std::shared_ptr<Gpu> gpu;              // null: the CPU
  std::shared_ptr<DeviceHealth> health;  // likewise: it cannot fail
  std::shared_ptr<StreamPool> streams;
  // Null where every call runs the baseline. Of several devices', the compiler's thread and the bounds of plans are the
  // same; kernels, recordings, shadow runs and the bound of weights' copies are the device's own.
  std::optional<TierSettings> tiers;

  bool failed() const { return health != nullptr && health->failed(); }
};

// In the order of `devices`, which OpenDevices gave. Throws std::runtime_error where a GPU cannot be used.
std::vector<std::shared_ptr<const DeviceParts>> MakeDeviceParts(const std::vector<c10::Device>& devices,
                                                                const RuntimeOptions& options,
                                                                const std::shared_ptr<Traffic>& traffic,
                                                                const std::shared_ptr<DisposalQueue>& disposal);

// What was compiled for all of them.
CompilerCounters CountersOf(const std::vector<std::shared_ptr<const DeviceParts>>& parts);

}  // namespace hearth
