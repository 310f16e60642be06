// cuDNN behind GpuConvolutions.
#pragma once

#include <c10/core/Device.h>

#include "jit/device/gpu_convolutions.h"

namespace hearth {

// The device's, made at the first call.
GpuConvolutions* ConvolutionsOfGpu(c10::DeviceIndex device);

}  // namespace hearth
