#include "jit/support/parallel_for.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <exception>

#include "jit/support/openmp.h"

namespace hearth {
namespace {

// A team of 16 threads that sleep has come together after about so long.
constexpr double kWorthATeam = 50'000;
// Pieces for each thread, as one that begins late leaves its own to others; none shorter than so many nanoseconds.
constexpr int64_t kPiecesOfThread = 4;
constexpr double kLeastPiece = 5'000;

class SharedWork {
 public:
  SharedWork(int64_t count, int64_t piece, c10::function_ref<void(int64_t, int64_t)> work)
      : count_(count), piece_(piece), work_(work) {}

  // Of each thread of the team; `self` is a SharedWork.
  static void Enter(void* self) { static_cast<SharedWork*>(self)->Work(); }
  // Once all threads have left.
  void Throw() const {
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  void Work() {
    try {
      for (int64_t begin; (begin = next_.fetch_add(piece_)) < count_;) work_(begin, std::min(begin + piece_, count_));
    } catch (...) {
      next_ = count_;
      if (!failed_.test_and_set()) error_ = std::current_exception();
    }
  }

  const int64_t count_;
  const int64_t piece_;
  const c10::function_ref<void(int64_t, int64_t)> work_;
  std::atomic<int64_t> next_{0};
  std::atomic_flag failed_;
  std::exception_ptr error_;
};

}  // namespace

int ThreadsFor(double nanoseconds) {
  if (nanoseconds < kWorthATeam || OpenMp::Get().parallel == nullptr || at::in_parallel_region()) return 1;
  return at::get_num_threads();
}

void ParallelFor(int64_t count, double nanoseconds, c10::function_ref<void(int64_t begin, int64_t end)> work) {
  if (count <= 0) return;
  const int64_t threads = count == 1 ? 1 : ThreadsFor(static_cast<double>(count) * nanoseconds);
  if (threads == 1) return work(0, count);
  const int64_t pieces = threads * kPiecesOfThread;
  const auto least = static_cast<int64_t>(std::min(kLeastPiece / nanoseconds, static_cast<double>(count)));
  SharedWork shared(count, std::max((count + pieces - 1) / pieces, least), work);
  // All of the team: OpenMP would end the threads of a smaller one, and start them again for the next.
  OpenMp::Get().parallel(SharedWork::Enter, &shared, 0, 0);
  shared.Throw();
}

}  // namespace hearth
