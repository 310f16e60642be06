// Calls functions at given times, on a thread of its own that is started for the first. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace hearth::server {

class AlarmClock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  AlarmClock() = default;
  // Waits for the call that is being made; the rest is forgotten.
  ~AlarmClock();
  AlarmClock(const AlarmClock&) = delete;
  AlarmClock& operator=(const AlarmClock&) = delete;

  // `alarm` must not throw, and should be short: others wait for it.
  void CallAt(TimePoint time, std::function<void()> alarm);

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<TimePoint, std::function<void()>> alarms_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace hearth::server
