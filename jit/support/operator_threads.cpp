#include "jit/support/operator_threads.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

#include <exception>

namespace hearth {
namespace {

template <typename Function>
Function* Find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

struct OpenMp {
  void (*set_num_threads)(int) = Find<void(int)>("omp_set_num_threads");
  int (*thread_number)() = Find<int()>("omp_get_thread_num");
  // What compilers make of a parallel region: LLVM's and Intel's libraries have it too.
  void (*parallel)(void (*)(void*), void*, unsigned,
                   unsigned) = Find<void(void (*)(void*), void*, unsigned, unsigned)>("GOMP_parallel");

  static const OpenMp& Get() {
    static const OpenMp openmp;
    return openmp;
  }
};

// MKL's: the number of threads for the calling thread's products, 0 for as many as there are elsewhere; gives the one
// before. Null where there is no MKL.
auto* SetMklThreads() {
  static auto* const set = Find<int(int)>("MKL_Set_Num_Threads_Local");
  return set;
}

struct Region {
  int count;
  const std::function<void()>* work;
  std::exception_ptr error;

  static void Enter(void* self) {
    if (OpenMp::Get().thread_number() == 0) static_cast<Region*>(self)->Work();
  }

  void Work() {
    OpenMp::Get().set_num_threads(count);  // of this region
    try {
      (*work)();
    } catch (...) {
      error = std::current_exception();
    }
  }
};

}  // namespace

void UseThisThreadOnly() {
  at::get_num_threads();  // sets the default, at the first call
  // LibTorch's own call sets the number for all threads that begin later.
  if (OpenMp::Get().set_num_threads != nullptr) OpenMp::Get().set_num_threads(1);
}

void AsIfOnThreads(int count, const std::function<void()>& work) {
  const OpenMp& openmp = OpenMp::Get();
  const bool can = openmp.set_num_threads != nullptr && openmp.thread_number != nullptr && openmp.parallel != nullptr;
  if (!can || at::get_num_threads() == count) return work();
  Region region{count, &work, nullptr};
  openmp.parallel(Region::Enter, &region, 2, 0);
  if (region.error != nullptr) std::rethrow_exception(region.error);
}

OneBlasThread::OneBlasThread(bool wanted) : wanted_(wanted && SetMklThreads() != nullptr) {
  if (wanted_) before_ = SetMklThreads()(1);
}

OneBlasThread::~OneBlasThread() {
  if (wanted_) SetMklThreads()(before_);
}

}  // namespace hearth
