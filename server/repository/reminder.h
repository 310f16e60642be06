// Calls a function at times that are asked for, on a thread of its own, which begins with the first of them.
// Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

namespace hearth::server {

class Reminder {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Reminder(std::function<void()> call) : call_(std::move(call)) {}
  // Times that have not come are dropped.
  ~Reminder();
  Reminder(const Reminder&) = delete;
  Reminder& operator=(const Reminder&) = delete;

  void CallAt(Clock::time_point time);

 private:
  void Run();

  const std::function<void()> call_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<Clock::time_point> times_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace hearth::server
