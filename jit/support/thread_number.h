// Threads by numbers from 0 on, in the order in which they first ask: for what each finds apart from what others do.
#pragma once

#include <atomic>
#include <cstddef>

namespace hearth {

// The calling thread's, among those that ask on behalf of `Owner`.
template <typename Owner>
size_t NumberOfThread() {
  static std::atomic<size_t> threads{0};
  thread_local const size_t number = threads.fetch_add(1, std::memory_order_relaxed);
  return number;
}

}  // namespace hearth
