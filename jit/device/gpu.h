// What a GPU can do beside LibTorch's operators: work that is recorded once and asked for again, and machine code of
// our own. It is behind interfaces because what calls CUDA is a library of its own, opened where a GPU is used (cuda/).
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace hearth {

// Work that is asked for as one piece (a CUDA graph), with its kernels, their order and their memory as they were
// recorded: what a run costs the host does not depend on how many operators it has.
//
// What is between Begin and End on a stream comes after what was between them before, on whatever stream: the memory of
// the recorded work is one run's at a time. Not thread-safe: one thread at a time from Begin to End. Its end waits
// until the GPU is through with it. All but the numbers throw c10::Error.
class RecordedGraph {
 public:
  virtual ~RecordedGraph() = default;
  virtual void Begin(const c10::Stream& stream) = 0;
  virtual void Launch(const c10::Stream& stream) = 0;
  virtual void End(const c10::Stream& stream) = 0;
  // Kernels, copies and fills of memory.
  virtual size_t num_operations() const = 0;
  // Of the GPU's memory, which nobody else gets as long as this lives.
  virtual size_t bytes() const = 0;
};

// Machine code, loaded. Thread-safe. Whoever lets go of it has waited for what was launched.
class GpuCode {
 public:
  virtual ~GpuCode() = default;
  struct Launch {
    size_t function = 0;  // of the names that were given for it
    uint32_t blocks = 1;
    uint32_t threads = 1;                  // of a block
    uint32_t shared_bytes = 0;             // of a block's memory, beside what the function declares
    std::span<const uint64_t> words = {};  // its one argument, as many as it takes
  };
  // Asks the thread's current stream for it. Throws c10::Error.
  virtual void Run(const Launch& launch) const = 0;
};

// Thread-safe; ends after what it made.
class Gpu {
 public:
  virtual ~Gpu() = default;

  virtual c10::Device device() const = 0;
  // As compilers know it: "sm_90".
  virtual std::string architecture() const = 0;
  // Where CUDA's libraries lie, its compiler's among them.
  virtual std::string library_folder() const = 0;
  // How many blocks run at the same time at least.
  virtual uint32_t multiprocessors() const = 0;
  // The most that a block may have of what Launch calls shared_bytes.
  virtual uint32_t most_shared_bytes() const = 0;

  // Calls `work`, which asks the given stream for something; none of that is done now. Tensors that are made meanwhile
  // are in memory of the recording, and those that `work` leaves alive are written anew by each launch. Throws
  // c10::Error if the work cannot be recorded, because it waits for the GPU or copies from or to the host's memory, and
  // whatever `work` throws. LibTorch's handles for the device are there on the calling thread: it has done such work
  // before.
  virtual std::unique_ptr<RecordedGraph> Record(const std::function<void(const c10::Stream& stream)>& work) = 0;

  // Of a cubin's bytes, with its functions of these names. Nothing is left to be loaded by the first launch. Throws
  // c10::Error.
  virtual std::shared_ptr<const GpuCode> Load(const std::string& code, std::span<const std::string> functions) = 0;

  // So many bytes of memory of this GPU that another process shares, from their begin on: open as long as the tensor's
  // memory is held. `handle`: the bytes of CUDA's cudaIpcMemHandle_t. Throws c10::Error for a handle that cannot be
  // opened, or of less memory.
  virtual at::Tensor OpenSharedMemory(const std::string& handle, int64_t bytes) = 0;

  // Why it cannot be used any more in this process, as CUDA says it; empty: it can. Waits for nothing
  // (device_health.h).
  virtual std::string Failure() const { return ""; }
};

// One that OpenDevices gave. Throws std::runtime_error if the library that calls CUDA cannot be loaded. Null for a CPU.
std::shared_ptr<Gpu> OpenGpu(c10::Device device);

}  // namespace hearth
