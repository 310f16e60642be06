// The processor time that the calling thread has used so far: what others take of the processor does not count, but
// what another process used for it.
#pragma once

#include <chrono>
#include <ctime>

namespace hearth {

inline thread_local std::chrono::duration<double> processor_time_of_others{0};

// Another process used so much for this thread.
inline void AddProcessorTime(std::chrono::duration<double> time) { processor_time_of_others += time; }

inline std::chrono::duration<double> TimeOf(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::chrono::duration<double>(static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9);
}

inline std::chrono::duration<double> ProcessorTimeOfThread() {
  return TimeOf(CLOCK_THREAD_CPUTIME_ID) + processor_time_of_others;
}

}  // namespace hearth
