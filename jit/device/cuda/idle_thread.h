// A thread for what a GPU's libraries prepare behind requests, on a stream of its own and with the least priority.
#pragma once

#include <c10/core/Device.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace hearth {

// Thread-safe. Begins with the first work.
class IdleThread {
 public:
  explicit IdleThread(c10::DeviceIndex device) : device_(device) {}
  ~IdleThread() { Stop(); }
  IdleThread(const IdleThread&) = delete;
  IdleThread& operator=(const IdleThread&) = delete;

  // Has it done once, after what was added before, unless too much waits. What it throws is nobody's.
  void Add(std::function<void()> work);
  // Ends it after the work that it is at, for good. Before the process exits: libraries that it has loaded end then.
  void Stop();

 private:
  void Run();

  const c10::DeviceIndex device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace hearth
