#include "jit/executor/background_thread.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <sys/resource.h>

namespace hearth {

void TakeLeastPriority() { setpriority(PRIO_PROCESS, 0, 19); }

void UseThisThreadOnly() {
  // LibTorch's own call sets the number for all threads that begin later; OpenMP's is the thread's own. It is looked
  // for where LibTorch brought it, since linking to OpenMP could bring a second one.
  at::get_num_threads();  // sets the default, at the first call
  using SetNumThreads = void (*)(int);
  if (auto* set = reinterpret_cast<SetNumThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"))) set(1);
}

}  // namespace hearth
