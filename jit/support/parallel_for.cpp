#include "jit/support/parallel_for.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <exception>

#include "jit/support/worker_threads.h"

namespace hearth {
namespace {

// From here on work is shared with threads that sleep, too, which take about so long to wake.
constexpr double kWorthWaking = 50'000;
// Pieces for each thread, as one that begins late leaves its own to others; none shorter than so many nanoseconds.
constexpr int64_t kPiecesOfThread = 4;
constexpr double kLeastPiece = 5'000;
// Parts are made shorter only while they are so long.
constexpr double kLongPart = 60'000;
constexpr int kMostPartsOfThread = 3;

class SharedWork {
 public:
  SharedWork(int64_t count, int64_t piece, c10::function_ref<void(int64_t, int64_t)> work)
      : count_(count), piece_(piece), work_(work) {}

  // Of each thread.
  void TakePieces() {
    try {
      for (int64_t begin; (begin = next_.fetch_add(piece_)) < count_;) work_(begin, std::min(begin + piece_, count_));
    } catch (...) {
      next_ = count_;
      if (!failed_.test_and_set()) error_ = std::current_exception();
    }
  }
  // Once all threads have left.
  void Throw() const {
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  const int64_t count_;
  const int64_t piece_;
  const c10::function_ref<void(int64_t, int64_t)> work_;
  std::atomic<int64_t> next_{0};
  std::atomic_flag failed_;
  std::exception_ptr error_;
};

}  // namespace

int ThreadsFor(double nanoseconds) {
  if (nanoseconds < kWorthSharing || WorkerThreads::AtWork() || at::in_parallel_region()) return 1;
  return at::get_num_threads();
}

int PartsFor(double nanoseconds) {
  const int threads = ThreadsFor(nanoseconds);
  if (threads == 1) return 1;
  const double of_thread = nanoseconds / threads / kLongPart;
  return threads * static_cast<int>(std::clamp(of_thread, 1.0, static_cast<double>(kMostPartsOfThread)));
}

void ParallelFor(int64_t count, double nanoseconds, c10::function_ref<void(int64_t begin, int64_t end)> work) {
  if (count <= 0) return;
  const double all = static_cast<double>(count) * nanoseconds;
  const int64_t threads = count == 1 ? 1 : ThreadsFor(all);
  if (threads == 1) return work(0, count);
  const auto least = static_cast<int64_t>(std::min(kLeastPiece / nanoseconds, static_cast<double>(count)));
  const int64_t piece = std::max(at::divup(count, threads * kPiecesOfThread), least);
  SharedWork shared(count, piece, work);
  const int64_t others = std::min(threads, at::divup(count, piece)) - 1;
  WorkerThreads::Get().Run(static_cast<int>(others), all >= kWorthWaking, [&] { shared.TakePieces(); });
  shared.Throw();
}

}  // namespace hearth
