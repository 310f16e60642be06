// Streams of a device: where the work of one run goes, so that runs need not wait for each other on a GPU.
//
// LibTorch's caching allocator gives a freed block at once to the next taker on the stream that it was allocated on,
// whoever else may still be at work on it. Nothing has to be recorded for it as long as
//  - what a run allocates, the copies of its arguments included, is allocated and used on the run's own stream, which
//    its forks share;
//  - what runs share (weights) was finished before they began, is only read, and is freed when the device is idle;
//  - a model that writes its own state has all of its runs on one stream, in their order.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <memory>
#include <mutex>
#include <vector>

namespace hearth {

// The streams of one device that no run has. The one given back last is handed out first: every stream keeps the memory
// that it once needed, so no more are used than there are runs at a time. Thread-safe.
class StreamPool : public std::enable_shared_from_this<StreamPool> {
 public:
  explicit StreamPool(c10::Device device) : device_(device) {}

  // A stream for one run, back in the pool when the last copy of the pointer goes; its work must be done by then. On a
  // GPU there are 32, and more runs at a time than that share some. Null for the CPU, which has none.
  std::shared_ptr<const c10::Stream> Take();

 private:
  const c10::Device device_;
  std::mutex mutex_;
  std::vector<c10::Stream> free_;
};

// The stream that work goes to where nobody says another. Null for the CPU.
std::shared_ptr<const c10::Stream> DefaultStream(c10::Device device);

// Blocks until the device has done everything that was asked of it. Throws c10::Error if some of that failed.
void WaitForDevice(c10::Device device);

}  // namespace hearth
