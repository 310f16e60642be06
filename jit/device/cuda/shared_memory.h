// Memory of a GPU that another process shares by CUDA's handles.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <string>

namespace hearth {

// As Gpu::OpenSharedMemory.
at::Tensor OpenSharedMemory(c10::DeviceIndex device, const std::string& handle, int64_t bytes);

}  // namespace hearth
