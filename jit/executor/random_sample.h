// Random numbers that cost a nanosecond, for what samples calls: a fixed step could always meet the same one of calls
// that take turns. A xorshift generator of the thread's own (G. Marsaglia, "Xorshift RNGs", 2003); every thread has the
// same sequence.
#pragma once

#include <cstdint>

namespace hearth {

// From 1 to 2^32 - 1.
inline uint32_t RandomWord() {
  constinit thread_local uint32_t state = 0x9e3779b9;
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

}  // namespace hearth
