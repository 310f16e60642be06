// How far a model is trusted to be quick, from 0 to kMostTrust: each time it was gains one, each time it was not costs
// as many as kTrustOfOneThatIsNot, so it keeps kEnoughTrust as long as seven of eight are quick. A thread that was put
// aside for once by a busy processor shall not cost a quick model its place, and one that takes really long loses it at
// once.
#pragma once

#include <algorithm>
#include <chrono>

namespace hearth::server {

struct QuickTimes {
  std::chrono::microseconds quick;  // up to this it was quick
  std::chrono::microseconds slow;   // from this on all trust is lost
};

inline constexpr int kEnoughTrust = 16;
inline constexpr int kMostTrust = 32;
inline constexpr int kTrustOfOneThatIsNot = 8;

inline int TrustAfter(int trust, std::chrono::steady_clock::duration time, const QuickTimes& times) {
  if (time <= times.quick) return std::min(trust + 1, kMostTrust);
  return time < times.slow ? std::max(trust - kTrustOfOneThatIsNot, 0) : 0;
}

}  // namespace hearth::server
