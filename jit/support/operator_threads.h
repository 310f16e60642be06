// How many threads work inside of an operator that a thread calls. LibTorch's operators and the libraries below them
// share the work by OpenMP, whose number of threads is the calling thread's own; the threads that it starts for it have
// the priority that it has then.
//
// OpenMP is looked for where LibTorch brought it, and MKL in it: linking to them could bring a second one. Without them
// nothing changes.
#pragma once

#include <functional>

namespace hearth {

// The calling thread's operators run on it alone from now on.
void UseThisThreadOnly();

// Runs `work`, in which operators ask libraries for what suits `count` threads (which format a weight should have) and
// yet run on this thread alone: so its own clock shows all that was done, and nothing waits for others. Where this
// thread has that many anyway, they are used. Throws what `work` throws.
//
// How: a parallel region in which one thread works and another one sleeps; regions within it have one thread each.
void AsIfOnThreads(int count, const std::function<void()>& work);

// While it lives, products of matrices that the calling thread asks LibTorch's BLAS for run on it alone: for small
// ones, which are done before other threads have woken. No difference where that library is not MKL, whose number of
// threads this is.
class OneBlasThread {
 public:
  // Does nothing if it is not `wanted`.
  explicit OneBlasThread(bool wanted = true);
  ~OneBlasThread();
  OneBlasThread(const OneBlasThread&) = delete;
  OneBlasThread& operator=(const OneBlasThread&) = delete;

 private:
  const bool wanted_;
  int before_ = 0;
};

}  // namespace hearth
