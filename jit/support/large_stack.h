// Threads with a stack for the deepest value that a program can make.
//
// A program may chain objects without end (a linked list of a million nodes is a line of TorchScript), and LibTorch
// frees, prints and compares values by recursion: on a stack of the usual size that ends the process. Here the stack's
// address range is larger than the memory that a chain of its depth would take; only what is used of it occupies
// memory, and what was used for once is given back (TrimStack). Where the process's address space is limited, or under
// a sanitizer, the stack is smaller.
#pragma once

#include <pthread.h>

#include <functional>

namespace hearth {

class LargeStackThread {
 public:
  // `body` must not throw.
  explicit LargeStackThread(std::function<void()> body);
  // Waits for its end.
  ~LargeStackThread();
  LargeStackThread(const LargeStackThread&) = delete;
  LargeStackThread& operator=(const LargeStackThread&) = delete;

 private:
  static void* Enter(void* self);

  std::function<void()> body_;
  void* stack_;
  size_t size_;
  pthread_t thread_;
};

// Gives memory back that the calling thread's stack took for a deep recursion. Cheap where there was none; nothing on
// other threads than these.
void TrimStack();

}  // namespace hearth
