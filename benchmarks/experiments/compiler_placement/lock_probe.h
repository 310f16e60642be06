// A thread that does every two milliseconds what requests do with the locks that all threads of a process share: takes
// and gives back memory (malloc's arenas, the address space), faults pages in, throws and catches (the tables for
// unwinding, which linked code joins). It tells for how long it waited for a lock at most: the time that passed, less
// the time that it ran, less the time that it could have run but had no processor. So busy neighbours do not count.
#pragma once

#include <atomic>
#include <stop_token>
#include <thread>

namespace hearth::benchmarks {

class LockProbe {
 public:
  // Starts, and works until its end. Ends the process where the kernel does not tell times of waiting.
  LockProbe();

  double longest_wait_seconds() const { return longest_; }

 private:
  void Run(const std::stop_token& stop);

  std::atomic<double> longest_{0};
  std::jthread thread_;
};

}  // namespace hearth::benchmarks
