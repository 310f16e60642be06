// Whether a process serves requests just now, for work that is to give way to them: a call is under way, or one came
// within the last moment.
//
// Calls are counted at their beginning and at their end, in stripes by thread, so that a call writes to no memory that
// other threads write often and looks at no clock. Whoever asks adds the stripes up: a count that has changed since he
// last asked is a call that came meanwhile.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "jit/support/thread_number.h"

namespace hearth {

class Traffic {
 public:
  using Clock = std::chrono::steady_clock;
  // Ten of the periods in which a quota of processor time is usually counted.
  static constexpr std::chrono::seconds kMoment{1};

  // Around each call, from any thread; the end may be on another one.
  void Begin() { OwnStripe().begun.fetch_add(1, std::memory_order_relaxed); }
  void End() { OwnStripe().ended.fetch_add(1, std::memory_order_release); }

  // For one thread at a time, which brings a time that does not go backwards. A call that came since the last question
  // is taken to have come just now.
  bool IsServing(Clock::time_point now);

 private:
  static constexpr size_t kStripes = 32;
  struct alignas(64) Stripe {
    std::atomic<uint64_t> begun{0};
    std::atomic<uint64_t> ended{0};
  };

  Stripe& OwnStripe() { return stripes_[NumberOfThread<Traffic>() % kStripes]; }

  std::array<Stripe, kStripes> stripes_;
  // Of whoever asks:
  uint64_t begun_before_ = 0;
  Clock::time_point served_until_{};
};

}  // namespace hearth
