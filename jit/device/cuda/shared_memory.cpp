#include "jit/device/cuda/shared_memory.h"

#include <ATen/ops/from_blob.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstring>
#include <memory>

namespace hearth {
namespace {

// Of the allocation that has this address. CUDA's runtime does not tell; its driver does.
size_t BytesFrom(void* begin) {
  constexpr unsigned kVersion = 12000;  // of the driver's function
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  C10_CUDA_CHECK(
      cudaGetDriverEntryPointByVersion("cuMemGetAddressRange", &function, kVersion, cudaEnableDefault, &found));
  TORCH_CHECK(found == cudaDriverEntryPointSuccess, "the driver does not tell how large memory is");
  const auto at = reinterpret_cast<CUdeviceptr>(begin);
  CUdeviceptr base = 0;
  size_t size = 0;
  const auto get_range = reinterpret_cast<CUresult (*)(CUdeviceptr*, size_t*, CUdeviceptr)>(function);
  TORCH_CHECK(get_range(&base, &size, at) == CUDA_SUCCESS, "the driver does not tell how large the memory is");
  return size - (at - base);
}

void Close(c10::DeviceIndex device, void* begin) {
  const c10::cuda::CUDAGuard guard(device);
  // Work of a request that was given up may still read it.
  C10_CUDA_CHECK_WARN(cudaDeviceSynchronize());
  C10_CUDA_CHECK_WARN(cudaIpcCloseMemHandle(begin));
}

}  // namespace

at::Tensor OpenSharedMemory(c10::DeviceIndex device, const std::string& handle, int64_t bytes) {
  const c10::cuda::CUDAGuard guard(device);
  cudaIpcMemHandle_t opened;
  TORCH_CHECK(handle.size() == sizeof(opened), "a handle of CUDA has ", sizeof(opened), " bytes, not ", handle.size());
  std::memcpy(&opened, handle.data(), sizeof(opened));
  void* begin = nullptr;
  C10_CUDA_CHECK(cudaIpcOpenMemHandle(&begin, opened, cudaIpcMemLazyEnablePeerAccess));
  const std::shared_ptr<void> memory(begin, [device](void* held) { Close(device, held); });
  const size_t size = BytesFrom(begin);
  TORCH_CHECK(static_cast<size_t>(bytes) <= size, "the memory has ", size, " bytes, not ", bytes);
  return at::from_blob(
      begin, {bytes}, [memory](void*) {}, at::TensorOptions(at::kByte).device(c10::kCUDA, device));
}

}  // namespace hearth
