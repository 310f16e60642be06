// The functions of the OpenMP library that LibTorch brought. They are looked for in the process: linking to the library
// could bring a second one, and compiling with OpenMP would link to it.
#pragma once

#include <dlfcn.h>

namespace hearth {

// A function that is in the process, or null.
template <typename Function>
Function* FindInProcess(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// Each null where there is no OpenMP.
struct OpenMp {
  void (*set_num_threads)(int) = FindInProcess<void(int)>("omp_set_num_threads");
  int (*thread_number)() = FindInProcess<int()>("omp_get_thread_num");
  int (*processors)() = FindInProcess<int()>("omp_get_num_procs");
  // What compilers make of a parallel region: LLVM's and Intel's libraries have it too.
  void (*parallel)(void (*)(void*), void*, unsigned,
                   unsigned) = FindInProcess<void(void (*)(void*), void*, unsigned, unsigned)>("GOMP_parallel");

  static const OpenMp& Get() {
    static const OpenMp openmp;
    return openmp;
  }
};

}  // namespace hearth
