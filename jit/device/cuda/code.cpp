#include "jit/device/cuda/code.h"

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <vector>

namespace hearth {
namespace {

class CudaCode final : public GpuCode {
 public:
  CudaCode(c10::DeviceIndex device, const std::string& code, std::span<const std::string> functions) : device_(device) {
    const c10::cuda::CUDAGuard guard(device_);
    C10_CUDA_CHECK(cudaLibraryLoadData(&library_, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    try {
      for (const std::string& name : functions) functions_.push_back(Function(name));
    } catch (...) {
      C10_CUDA_CHECK_WARN(cudaLibraryUnload(library_));
      throw;
    }
  }
  ~CudaCode() override {
    const c10::cuda::CUDAGuard guard(device_);
    C10_CUDA_CHECK_WARN(cudaLibraryUnload(library_));
  }
  CudaCode(const CudaCode&) = delete;
  CudaCode& operator=(const CudaCode&) = delete;

  void Run(const Launch& launch) const override {
    void* arguments[] = {const_cast<uint64_t*>(launch.words.data())};
    C10_CUDA_CHECK(cudaLaunchKernel(functions_.at(launch.function), dim3(launch.blocks), dim3(launch.threads),
                                    arguments, launch.shared_bytes, c10::cuda::getCurrentCUDAStream(device_).stream()));
  }

 private:
  const void* Function(const std::string& name) const {
    cudaKernel_t kernel = nullptr;
    C10_CUDA_CHECK(cudaLibraryGetKernel(&kernel, library_, name.c_str()));
    const auto* function = reinterpret_cast<const void*>(kernel);
    int most = 0;
    C10_CUDA_CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device_));
    // Loads it, too: CUDA would do that at the first launch.
    cudaFuncAttributes attributes{};
    C10_CUDA_CHECK(cudaFuncGetAttributes(&attributes, function));
    C10_CUDA_CHECK(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        most - static_cast<int>(attributes.sharedSizeBytes)));
    return function;
  }

  const c10::DeviceIndex device_;
  cudaLibrary_t library_ = nullptr;
  std::vector<const void*> functions_;
};

}  // namespace

std::shared_ptr<const GpuCode> LoadCode(c10::DeviceIndex device, const std::string& code,
                                        std::span<const std::string> functions) {
  return std::make_shared<const CudaCode>(device, code, functions);
}

}  // namespace hearth
