#include "benchmarks/experiments/compiler_placement/lock_probe.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <vector>

namespace hearth::benchmarks {
namespace {

double ThreadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Seconds that the thread of this file was ready to run without a processor.
double SecondsReady(int schedstat) {
  char text[128] = {};
  unsigned long long ran = 0, ready = 0;
  if (pread(schedstat, text, sizeof text - 1, 0) <= 0 || std::sscanf(text, "%llu %llu", &ran, &ready) != 2) {
    std::cerr << "the kernel does not tell how long threads wait (/proc/thread-self/schedstat)\n";
    std::_Exit(1);
  }
  return 1e-9 * static_cast<double>(ready);
}

void UseSharedThings() {
  constexpr size_t kBytes = 256 << 10, kPage = 4096;
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  for (size_t offset = 0; offset < kBytes; offset += kPage) {
    static_cast<volatile char*>(memory)[offset] = 1;
  }
  munmap(memory, kBytes);

  std::vector<std::unique_ptr<char[]>> blocks;
  for (size_t size = 16; size <= 32768; size *= 2) {
    for (int i = 0; i < 10; ++i) {
      // Left uninitialised, so that the allocator does the work and not memset.
      blocks.emplace_back(new char[size]);  // NOLINT(modernize-make-unique)
    }
  }
  try {
    throw std::runtime_error("caught at once");
  } catch (const std::runtime_error&) {
    blocks.clear();
  }
}

}  // namespace

LockProbe::LockProbe() : thread_([this](const std::stop_token& stop) { Run(stop); }) {}

void LockProbe::Run(const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  const int schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  UseSharedThings();
  while (!stop.stop_requested()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const double ready = SecondsReady(schedstat);
    const double ran = ThreadSeconds();
    const auto start = Clock::now();
    UseSharedThings();
    const double passed = std::chrono::duration<double>(Clock::now() - start).count();
    const double waited = passed - (ThreadSeconds() - ran) - (SecondsReady(schedstat) - ready);
    longest_ = std::max<double>(longest_, waited);
  }
  close(schedstat);
}

}  // namespace hearth::benchmarks
