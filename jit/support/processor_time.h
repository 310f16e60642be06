// The processor time that the calling thread has used so far: what others take of the processor does not count.
#pragma once

#include <chrono>
#include <ctime>

namespace hearth {

inline std::chrono::duration<double> ProcessorTimeOfThread() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::duration<double>(static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9);
}

}  // namespace hearth
