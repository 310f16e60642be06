// Holds work to a share of one processor's time: a token bucket of processor seconds (J. Turner, "New directions in
// communications", 1986). What was used is charged afterwards; who has used more than there was rests until the share
// has made up for it.
//
// Not thread-safe. The caller brings the time, which does not go backwards.
#pragma once

#include <chrono>

namespace hearth {

class ProcessorBudget {
 public:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  // What may be used at once after a time of rest.
  static constexpr Seconds kBurst{0.01};

  // `share` of one processor; 0 or less is no limit.
  ProcessorBudget(double share, Clock::time_point now) : share_(share), last_(now) {}

  void Charge(Seconds used, Clock::time_point now);
  // How long to rest before going on; 0 if there is no need.
  Seconds Rest(Clock::time_point now);

 private:
  void Refill(Clock::time_point now);

  const double share_;
  Clock::time_point last_;
  Seconds left_ = kBurst;
};

}  // namespace hearth
