// Work of a GPU that is recorded once and asked for again as one piece (a CUDA graph), with its kernels, their order
// and their memory as they were: what a run costs the host does not depend on how many operators it has.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace hearth {

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

// Thread-safe; ends after what it recorded.
class GraphRecorder {
 public:
  virtual ~GraphRecorder() = default;
  // Calls `work`, which asks the given stream for something; none of that is done now. Tensors that are made meanwhile
  // are in memory of the recording, and those that `work` leaves alive are written anew by each launch. Throws
  // c10::Error if the work cannot be recorded, because it waits for the GPU or copies from or to the host's memory, and
  // whatever `work` throws. LibTorch's handles for the device are there on the calling thread: it has done such work
  // before.
  virtual std::unique_ptr<RecordedGraph> Record(const std::function<void(const c10::Stream& stream)>& work) = 0;
};

// Of a GPU that OpenDevice gave. Throws std::runtime_error if the library that has it cannot be loaded. Null for a CPU.
std::shared_ptr<GraphRecorder> OpenGraphRecorder(c10::Device device);

}  // namespace hearth
