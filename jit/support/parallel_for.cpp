#include "jit/support/parallel_for.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>

#include "jit/support/background_thread.h"
#include "jit/support/operator_threads.h"
#include "jit/support/worker_threads.h"

namespace hearth {
namespace {

// From here on work is shared with threads that sleep, too, which take about so long to wake.
constexpr double kWorthWaking = 50'000;
// Pieces for each thread, as one that begins late leaves its own to others; none shorter than so many nanoseconds.
constexpr int64_t kPiecesOfThread = 4;
constexpr double kLeastPiece = 2'000;
// What a piece of a part takes at least.
constexpr double kPieceOfPart = 10'000;

// Pieces of [0, count), a share of them for each thread: the same part of the whole whenever as many threads share, so
// that a thread finds what it wrote in one piece of work in its own cache in the next. Who has done its share does what
// others have left of theirs.
class SharedWork {
 public:
  SharedWork(int64_t count, int64_t piece, int64_t threads, c10::function_ref<void(int64_t, int64_t)> work)
      : count_(count), piece_(piece), share_count_(std::min(threads, kMostShares)), work_(work) {
    const int64_t pieces = at::divup(count, piece);
    for (int64_t i = 0; i < share_count_; ++i) {
      Share& share = shares_[static_cast<size_t>(i)];
      share.next.store(pieces * i / share_count_, std::memory_order_relaxed);
      share.end = pieces * (i + 1) / share_count_;
    }
  }

  // Of each thread; `thread` is its number.
  void TakePieces(int thread) {
    try {
      for (int64_t i = 0; i < share_count_; ++i) TakeFrom(shares_[static_cast<size_t>((thread + i) % share_count_)]);
    } catch (...) {
      is_over_.store(true, std::memory_order_relaxed);
      if (!failed_.test_and_set()) error_ = std::current_exception();
    }
  }
  // Once all threads have left.
  void Throw() const {
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  static constexpr int64_t kMostShares = 64;

  // By itself in a line of the cache: as a rule one thread alone takes of it.
  struct alignas(64) Share {
    std::atomic<int64_t> next;
    int64_t end;
  };

  void TakeFrom(Share& share) {
    while (share.next.load(std::memory_order_relaxed) < share.end) {
      const int64_t piece = share.next.fetch_add(1, std::memory_order_relaxed);
      if (piece >= share.end || is_over_.load(std::memory_order_relaxed)) return;
      work_(piece * piece_, std::min((piece + 1) * piece_, count_));
    }
  }

  const int64_t count_;
  const int64_t piece_;
  const int64_t share_count_;
  const c10::function_ref<void(int64_t, int64_t)> work_;
  std::array<Share, kMostShares> shares_;
  std::atomic<bool> is_over_{false};
  std::atomic_flag failed_;
  std::exception_ptr error_;
};

}  // namespace

int ThreadsFor(double nanoseconds) {
  if (WorkerThreads::AtWork() || at::in_parallel_region() || IsInBackground()) return 1;
  const int threads = OperatorThreads();
  return IsWorthSharing(nanoseconds, threads) ? threads : 1;
}

WorkDivision DivisionFor(double nanoseconds) {
  const int threads = ThreadsFor(nanoseconds);
  if (threads == 1) return {};
  if (nanoseconds < threads * kLeastPiece) return {.parts = static_cast<int>(nanoseconds / kLeastPiece)};
  const double pieces = nanoseconds / threads / kPieceOfPart;
  return {threads, static_cast<int>(std::clamp(pieces, 1.0, static_cast<double>(kPiecesOfThread)))};
}

void ParallelFor(int64_t count, double nanoseconds, c10::function_ref<void(int64_t begin, int64_t end)> work) {
  if (count <= 0) return;
  const double all = static_cast<double>(count) * nanoseconds;
  const int64_t threads = count == 1 ? 1 : ThreadsFor(all);
  if (threads == 1) return work(0, count);
  const auto least = static_cast<int64_t>(std::min(kLeastPiece / nanoseconds, static_cast<double>(count)));
  const int64_t piece = std::max(at::divup(count, threads * kPiecesOfThread), least);
  const int64_t takers = std::min(threads, at::divup(count, piece));
  SharedWork shared(count, piece, takers, work);
  WorkerThreads::Get().Run(static_cast<int>(takers - 1), all >= kWorthWaking,
                           [&](int thread) { shared.TakePieces(thread); });
  shared.Throw();
}

}  // namespace hearth
