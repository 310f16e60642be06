// cuDNN behind GpuConvolutions.
#pragma once

#include <c10/core/Device.h>

#include "jit/device/gpu_convolutions.h"

namespace hearth {

// The device's, made at the first call.
GpuConvolutions* ConvolutionsOfGpu(c10::DeviceIndex device);

// Waits for what goes on behind requests, and ends it for good. Before the process exits.
void StopTuning(c10::DeviceIndex device);

}  // namespace hearth
