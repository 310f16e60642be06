// RecordedGraph as a CUDA graph, recorded by capturing a stream.
#pragma once

#include <c10/core/Device.h>
#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "jit/device/gpu.h"

namespace hearth {

// Streams that recordings have for themselves while they are made. LibTorch keeps a workspace of cuBLAS for each stream
// and thread for ever, so a stream is used again, but by one recording at a time: the kernels of two that run at once
// must not share it. Thread-safe.
class RecordingStreams {
 public:
  explicit RecordingStreams(c10::DeviceIndex device) : device_(device) {}

  cudaStream_t Take();
  void GiveBack(cudaStream_t stream);
  c10::DeviceIndex device() const { return device_; }

 private:
  const c10::DeviceIndex device_;
  std::mutex mutex_;
  std::vector<cudaStream_t> free_;
};

// As Gpu::Record.
std::unique_ptr<RecordedGraph> RecordGraph(const std::shared_ptr<RecordingStreams>& streams,
                                           const std::function<void(const c10::Stream& stream)>& work);

}  // namespace hearth
