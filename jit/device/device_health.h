// Whether a GPU can still be used. What some errors leave behind (an illegal address, an assertion in a kernel, memory
// that cannot be corrected, a device that is lost) stays for the life of the process: whatever is asked of the GPU then
// fails with the same error, whoever asks. Only another process can use it again.
#pragma once

#include <c10/core/Device.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace hearth {

// Of one device. Thread-safe.
class DeviceHealth {
 public:
  // What is wrong with the device for good, as the device itself tells when it is asked for something harmless; empty:
  // nothing. Must not throw.
  using Probe = std::function<std::string()>;

  // `on_failure` is called once, on the thread that finds the failure, with what() and the error that gave reason to
  // look. It must not block or throw.
  DeviceHealth(c10::Device device, Probe probe, std::function<void(const std::string& text)> on_failure)
      : device_(device), probe_(std::move(probe)), on_failure_(std::move(on_failure)) {}

  // For whoever is about to ask the device for something.
  bool failed() const { return failed_.load(std::memory_order_acquire); }

  enum class Finding { kSound, kFailsNow, kFailedBefore };
  // For whoever asked the device for something that did not work, with this error: asks the device. kFailsNow only
  // once.
  Finding Examine(std::string_view error);

  // For people, once it failed: "cuda:0 has failed and cannot be used until the process is started anew: ...".
  std::string what() const;

 private:
  const c10::Device device_;
  const Probe probe_;
  const std::function<void(const std::string&)> on_failure_;
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  std::string reason_;
};

}  // namespace hearth
