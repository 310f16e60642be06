// A rate that may be saved up: so many tokens at the start, and with each second more, up to the most. The start is
// less than that where new ones are free, so that they do not get around it.
#pragma once

#include <chrono>

#include "absl/functional/function_ref.h"

namespace hearth::server {

struct TokenRate {
  double at_start = 0;
  double per_second = 0;
  double most = 0;
};

// Tokens that are spent one by one and come back with time. For one thread.
class TokenBucket {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  TokenBucket(const TokenRate& rate, TimePoint now) : rate_(rate), tokens_(rate.at_start), filled_(now) {}

  // False if there is none. `more()` says how many came otherwise than with time; it is asked when none is left.
  bool Take(TimePoint now, absl::FunctionRef<double()> more = Nothing);

 private:
  static double Nothing() { return 0; }

  const TokenRate rate_;
  double tokens_;
  TimePoint filled_;
};

}  // namespace hearth::server
