// GpuCode as a library of CUDA's runtime.
#pragma once

#include <c10/core/Device.h>

#include <memory>
#include <span>
#include <string>

#include "jit/device/gpu.h"

namespace hearth {

// As Gpu::Load.
std::shared_ptr<const GpuCode> LoadCode(c10::DeviceIndex device, const std::string& code,
                                        std::span<const std::string> functions);

}  // namespace hearth
