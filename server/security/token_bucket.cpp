#include "server/security/token_bucket.h"

#include <algorithm>

namespace hearth::server {

bool TokenBucket::Take(TimePoint now, absl::FunctionRef<double()> more) {
  if (tokens_ < 1) {
    const std::chrono::duration<double> passed = now - filled_;
    filled_ = now;
    tokens_ = std::min(rate_.most, tokens_ + rate_.per_second * passed.count() + more());
    if (tokens_ < 1) return false;
  }
  tokens_ -= 1;
  return true;
}

}  // namespace hearth::server
