// Denormal numbers (below 1.2e-38 in float32) take a processor a hundred times as long as others. A softmax over scores
// that were lowered by 100 is full of them, and a product that reads them may take ten times as long.
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace hearth {

// While it lives, the calling thread's arithmetic reads denormal numbers as zero; no difference on processors that have
// no such mode. For sums of products, which that changes by less than 1.2e-38 times the other factor.
class DenormalsAreZero {
 public:
#if defined(__x86_64__)
  DenormalsAreZero() : before_(_mm_getcsr()) { _mm_setcsr(before_ | kDenormalsAreZero); }
  ~DenormalsAreZero() { _mm_setcsr(before_); }
#endif
  DenormalsAreZero(const DenormalsAreZero&) = delete;
  DenormalsAreZero& operator=(const DenormalsAreZero&) = delete;

#if defined(__x86_64__)
 private:
  static constexpr unsigned kDenormalsAreZero = 0x40;

  const unsigned before_;
#else
  DenormalsAreZero() = default;
#endif
};

}  // namespace hearth
