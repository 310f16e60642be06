#include "jit/executor/processor_budget.h"

#include <algorithm>

namespace hearth {

void ProcessorBudget::Charge(Seconds used, Clock::time_point now) {
  if (share_ <= 0) return;
  Refill(now);
  left_ -= used;
}

ProcessorBudget::Seconds ProcessorBudget::Rest(Clock::time_point now) {
  if (share_ <= 0) return Seconds(0);
  Refill(now);
  return std::max(Seconds(0), -left_ / share_);
}

void ProcessorBudget::Refill(Clock::time_point now) {
  left_ = std::min(kBurst, left_ + Seconds(now - last_) * share_);
  last_ = now;
}

}  // namespace hearth
