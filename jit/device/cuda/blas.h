// cuBLASLt behind GpuBlas.
#pragma once

#include <c10/core/Device.h>

#include "jit/device/gpu_blas.h"

namespace hearth {

// The device's, made at the first call. Throws c10::Error.
GpuBlas* BlasOfGpu(c10::DeviceIndex device);

}  // namespace hearth
