// What libhearth_cuda.so gives. It names no CUDA library: where it is opened, LibTorch has loaded them.
#include "jit/device/gpu.h"

#include <c10/cuda/CUDAException.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <filesystem>

#include "jit/device/cuda/blas.h"
#include "jit/device/cuda/code.h"
#if HEARTH_HAS_CUDNN
#include "jit/device/cuda/convolutions.h"
#endif
#include "jit/device/cuda/recorded_graph.h"
#include "jit/device/cuda/shared_memory.h"
#include "jit/device/gpu_convolutions.h"

namespace hearth {
namespace {

// What functions declare of it themselves, for reductions over a block.
constexpr uint32_t kDeclaredSharedBytes = 16384;

// Of an error that asking for nothing gave: none of one's own making, there is only what work before has left.
bool Stays(cudaError_t error) {
  const bool of_recordings = error >= cudaErrorStreamCaptureUnsupported && error <= cudaErrorStreamCaptureWrongThread;
  return error != cudaSuccess && error != cudaErrorNotReady && error != cudaErrorMemoryAllocation && !of_recordings;
}

class CudaGpu final : public Gpu {
 public:
  explicit CudaGpu(c10::DeviceIndex device) : streams_(std::make_shared<RecordingStreams>(device)) {}

#if HEARTH_HAS_CUDNN
  ~CudaGpu() override { StopTuning(streams_->device()); }
#endif

  c10::Device device() const override { return {c10::kCUDA, streams_->device()}; }
  std::string architecture() const override {
    return "sm_" + std::to_string(Number(cudaDevAttrComputeCapabilityMajor)) +
           std::to_string(Number(cudaDevAttrComputeCapabilityMinor));
  }
  std::string library_folder() const override {
    Dl_info runtime{};
    TORCH_CHECK(dladdr(reinterpret_cast<const void*>(&cudaGetDevice), &runtime) != 0, "CUDA's runtime is nowhere");
    return std::filesystem::path(runtime.dli_fname).parent_path();
  }
  uint32_t multiprocessors() const override { return static_cast<uint32_t>(Number(cudaDevAttrMultiProcessorCount)); }
  uint32_t most_shared_bytes() const override {
    return static_cast<uint32_t>(Number(cudaDevAttrMaxSharedMemoryPerBlockOptin)) - kDeclaredSharedBytes;
  }
  std::unique_ptr<RecordedGraph> Record(const std::function<void(const c10::Stream&)>& work) override {
    return RecordGraph(streams_, work);
  }
  std::shared_ptr<const GpuCode> Load(const std::string& code, std::span<const std::string> functions) override {
    return LoadCode(streams_->device(), code, functions);
  }
  at::Tensor OpenSharedMemory(const std::string& handle, int64_t bytes) override {
    return hearth::OpenSharedMemory(streams_->device(), handle, bytes);
  }
  std::string Failure() const override {
    int before = 0;
    cudaError_t error = cudaGetDevice(&before);
    if (error == cudaSuccess) error = cudaSetDevice(streams_->device());
    if (error == cudaSuccess) error = cudaStreamQuery(cudaStreamLegacy);
    size_t free = 0;
    size_t total = 0;
    if (error == cudaSuccess || !Stays(error)) error = cudaMemGetInfo(&free, &total);
    static_cast<void>(cudaSetDevice(before));
    // What is told here is not the next caller's.
    static_cast<void>(cudaGetLastError());
    if (!Stays(error)) return "";
    return std::string(cudaGetErrorString(error)) + " (" + cudaGetErrorName(error) + ")";
  }

 private:
  int Number(cudaDeviceAttr attribute) const {
    int number = 0;
    C10_CUDA_CHECK(cudaDeviceGetAttribute(&number, attribute, streams_->device()));
    return number;
  }

  const std::shared_ptr<RecordingStreams> streams_;
};

}  // namespace
}  // namespace hearth

// For OpenGpu, which looks it up by this name; the caller owns what it gives.
extern "C" __attribute__((visibility("default"))) hearth::Gpu* hearth_make_gpu(int device) {
  return new hearth::CudaGpu(static_cast<c10::DeviceIndex>(device));
}

// The process's, which nobody frees.
extern "C" __attribute__((visibility("default"))) hearth::GpuBlas* hearth_gpu_blas(int device) {
  return hearth::BlasOfGpu(static_cast<c10::DeviceIndex>(device));
}

// Likewise; null where this was built without the headers of its library.
extern "C" __attribute__((visibility("default"))) hearth::GpuConvolutions* hearth_gpu_convolutions(
    [[maybe_unused]] int device) {
#if HEARTH_HAS_CUDNN
  return hearth::ConvolutionsOfGpu(static_cast<c10::DeviceIndex>(device));
#else
  return nullptr;
#endif
}
