// How many clients take turns at a port, and how quickly: whether its thread is better left to reading and writing, and
// the handlers' work to others that run beside it. Where few clients ask again as soon as they are answered, or
// many ask now and then, nothing waits meanwhile; where many ask at the same time, all of them would. For one thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace hearth::server {

class ActiveClients {
 public:
  using Clock = std::chrono::steady_clock;

  // A request has come. `last` is its connection's own: what this returned for the request before, 0 at first.
  uint64_t Note(uint64_t last, Clock::time_point now) {
    const uint64_t number = ++requests_;
    // As many requests as have come since this client's last one, so many clients there are.
    if (last != 0) Approach(clients_, static_cast<double>(number - last));
    Approach(gap_, std::chrono::duration<double, std::micro>(now - last_came_).count());
    last_came_ = now;
    return number;
  }

  bool few() const { return clients_ < kFew || gap_ > kLongGap; }

 private:
  // On two processors, five clients with short models are served as quickly by one thread as by several.
  static constexpr double kFew = 5;
  static constexpr double kLongGap = 100;  // microseconds
  // A value that is far off counts no more than this.
  static constexpr double kMost = 1000;
  static constexpr double kWeight = 1.0 / 16;

  static void Approach(double& mean, double value) { mean += (std::min(value, kMost) - mean) * kWeight; }

  uint64_t requests_ = 0;
  // Means of the last requests.
  double clients_ = 1;
  double gap_ = kMost;  // microseconds between two requests
  Clock::time_point last_came_;
};

}  // namespace hearth::server
