#include "jit/executor/traffic.h"

namespace hearth {

bool Traffic::IsServing(Clock::time_point now) {
  // The ends first: the beginning of each that is seen is seen too, so never more have ended than begun.
  uint64_t ended = 0;
  for (const Stripe& stripe : stripes_) ended += stripe.ended.load(std::memory_order_acquire);
  uint64_t begun = 0;
  for (const Stripe& stripe : stripes_) begun += stripe.begun.load(std::memory_order_relaxed);
  if (begun != ended || begun != begun_before_) {
    begun_before_ = begun;
    served_until_ = now + kMoment;
  }
  return now < served_until_;
}

}  // namespace hearth
