#include "jit/device/cuda/recorded_graph.h"

#include <ATen/cuda/MemPool.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <utility>

namespace hearth {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

cudaStream_t StreamOf(const c10::Stream& stream) { return c10::cuda::CUDAStream(stream).stream(); }

bool IsHostMemory(const void* pointer) {
  cudaPointerAttributes attributes{};
  C10_CUDA_CHECK(cudaPointerGetAttributes(&attributes, pointer));
  return attributes.type != cudaMemoryTypeDevice;
}

void RequireNoHostMemory(const std::vector<cudaGraphNode_t>& nodes) {
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    C10_CUDA_CHECK(cudaGraphNodeGetType(node, &type));
    if (type == cudaGraphNodeTypeMemcpy) {
      cudaMemcpy3DParms copy{};
      C10_CUDA_CHECK(cudaGraphMemcpyNodeGetParams(node, &copy));
      TORCH_CHECK(!IsHostMemory(copy.srcPtr.ptr) && !IsHostMemory(copy.dstPtr.ptr),
                  "it copies between the host and the GPU");
    } else {
      TORCH_CHECK(type == cudaGraphNodeTypeKernel || type == cudaGraphNodeTypeMemset || type == cudaGraphNodeTypeEmpty,
                  "it has work of another kind than kernels, copies and fills");
    }
  }
}

class CudaGraph final : public RecordedGraph {
 public:
  explicit CudaGraph(std::shared_ptr<RecordingStreams> streams)
      : streams_(std::move(streams)), pool_(at::cuda::MemPool::graph_pool_handle(/*is_user_created=*/false)) {
    stream_ = streams_->Take();
    C10_CUDA_CHECK(cudaEventCreateWithFlags(&through_, cudaEventDisableTiming));
  }
  ~CudaGraph() override {
    // What fails here was told to those whose work it was.
    const c10::cuda::CUDAGuard guard(streams_->device());
    if (used_) C10_CUDA_CHECK_WARN(cudaEventSynchronize(through_));
    C10_CUDA_CHECK_WARN(cudaEventDestroy(through_));
    if (executable_ != nullptr) C10_CUDA_CHECK_WARN(cudaGraphExecDestroy(executable_));
    if (has_pool_) allocator::releasePool(streams_->device(), pool_);
    streams_->GiveBack(stream_);
  }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  void Record(const std::function<void(const c10::Stream&)>& work) {
    const c10::DeviceIndex device = streams_->device();
    const c10::cuda::CUDAStream stream = c10::cuda::getStreamFromExternal(stream_, device);
    const c10::cuda::CUDAStreamGuard guard(stream);
    allocator::beginAllocateToPool(device, pool_, [own = stream_](cudaStream_t asked) { return asked == own; });
    has_pool_ = true;
    cudaGraph_t graph = nullptr;
    std::exception_ptr error;
    try {
      // Of the calls that CUDA forbids while something is recorded, this thread's are: others serve requests.
      C10_CUDA_CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
      try {
        work(stream.unwrap());
      } catch (...) {
        error = std::current_exception();
      }
      const cudaError_t ended = cudaStreamEndCapture(stream_, &graph);
      // What the work was told is the reason, and this what follows from it.
      if (error != nullptr) static_cast<void>(cudaGetLastError());
      if (error == nullptr) C10_CUDA_CHECK(ended);
    } catch (...) {
      error = std::current_exception();
    }
    allocator::endAllocateToPool(device, pool_);
    try {
      if (error != nullptr) std::rethrow_exception(error);
      Instantiate(graph);
    } catch (...) {
      error = std::current_exception();
    }
    if (graph != nullptr) C10_CUDA_CHECK_WARN(cudaGraphDestroy(graph));
    if (error != nullptr) std::rethrow_exception(error);
    for (const allocator::SegmentInfo& segment : allocator::snapshot(pool_, /*include_traces=*/false).segments) {
      bytes_ += segment.total_size;
    }
  }

  void Begin(const c10::Stream& stream) override {
    if (used_) C10_CUDA_CHECK(cudaStreamWaitEvent(StreamOf(stream), through_, 0));
  }
  void Launch(const c10::Stream& stream) override { C10_CUDA_CHECK(cudaGraphLaunch(executable_, StreamOf(stream))); }
  void End(const c10::Stream& stream) override {
    C10_CUDA_CHECK(cudaEventRecord(through_, StreamOf(stream)));
    used_ = true;
  }
  size_t num_operations() const override { return num_operations_; }
  size_t bytes() const override { return bytes_; }

 private:
  void Instantiate(cudaGraph_t graph) {
    size_t count = 0;
    C10_CUDA_CHECK(cudaGraphGetNodes(graph, nullptr, &count));
    std::vector<cudaGraphNode_t> nodes(count);
    C10_CUDA_CHECK(cudaGraphGetNodes(graph, nodes.data(), &count));
    RequireNoHostMemory(nodes);
    num_operations_ = count;
    C10_CUDA_CHECK(cudaGraphInstantiateWithFlags(&executable_, graph, 0));
    // Else the first launch does it.
    C10_CUDA_CHECK(cudaGraphUpload(executable_, stream_));
    C10_CUDA_CHECK(cudaStreamSynchronize(stream_));
  }

  const std::shared_ptr<RecordingStreams> streams_;
  const c10::MempoolId_t pool_;
  bool has_pool_ = false;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t through_ = nullptr;
  bool used_ = false;
  cudaGraphExec_t executable_ = nullptr;
  size_t num_operations_ = 0;
  size_t bytes_ = 0;
};

}  // namespace

cudaStream_t RecordingStreams::Take() {
  const std::lock_guard lock(mutex_);
  if (!free_.empty()) {
    const cudaStream_t stream = free_.back();
    free_.pop_back();
    return stream;
  }
  const c10::cuda::CUDAGuard guard(device_);
  cudaStream_t stream = nullptr;
  C10_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

void RecordingStreams::GiveBack(cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  free_.push_back(stream);
}

std::unique_ptr<RecordedGraph> RecordGraph(const std::shared_ptr<RecordingStreams>& streams,
                                           const std::function<void(const c10::Stream& stream)>& work) {
  const c10::cuda::CUDAGuard guard(streams->device());
  auto graph = std::make_unique<CudaGraph>(streams);
  graph->Record(work);
  return graph;
}

}  // namespace hearth
