// A run and its forks: how many of them are under way, and which of them wait for a future.
//
// A state that waits is kept here until its future is complete, or the run is to stop (its token was cancelled, its
// deadline passed), or nothing of the run works any more and this state waits, through others, for itself. Whichever
// comes first puts it back on the pool, once.
//
// A run under way goes before what the pool has queued: a fork that no thread has begun when it is waited for is begun
// by the thread that would have waited, and who has waited for a fork goes on where that has ended.
//
// Shared by the states of one run. Thread-safe.
#pragma once

#include <ATen/core/ivalue.h>

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "jit/interpreter/cancellation.h"
#include "jit/interpreter/thread_pool.h"

namespace hearth {

class InterpreterState;

// What the model is told where a wait can never end.
inline constexpr const char* kWaitsForItself = "this wait can never end: it waits, perhaps through others, for itself";

// More forks at once than a run may have.
class ForkLimitError : public std::runtime_error {
 public:
  ForkLimitError();
};

class RunGroup : public std::enable_shared_from_this<RunGroup> {
 public:
  // For the run that is under way: it counts as one. `token` may be null; the pool outlives the group.
  static std::shared_ptr<RunGroup> Create(std::shared_ptr<CancellationToken> token, ThreadPool* pool);

  // One fork more is under way, kept here until TakeFork and posted to the pool. Throws ForkLimitError where that is
  // one too many; from then on, CheckForks does so for every state of the run, so that forks which only fork do not go
  // on for ever.
  void BeginFork(std::shared_ptr<InterpreterState> fork);
  void CheckForks() const;
  // The fork that will complete `future`, for the calling thread to resume; null if another one has taken it.
  std::shared_ptr<InterpreterState> TakeFork(const c10::ivalue::Future* future);
  // Why a fork need not go on at all: the run is to stop, or has too many of them. Null if it may. Spares a hundred
  // thousand forks of a run that was ended the way through an exception each.
  std::exception_ptr ReasonToStop() const;
  // A fork has ended; or the run, whose forks then get a minute to end if they have no deadline.
  void EndFork();
  void EndRun();

  // Puts a state aside, as above. The state may be running again before this returns.
  void Suspend(std::shared_ptr<InterpreterState> state);
  // While it lives, the first state of the group that this thread wakes is left to who has made it, which resumes it.
  // For a fork that ends: its thread is warm, and needs no other.
  class Successor {
   public:
    explicit Successor(const RunGroup& group);
    ~Successor();
    Successor(const Successor&) = delete;
    Successor& operator=(const Successor&) = delete;
    // Null if none was woken.
    std::shared_ptr<InterpreterState> Take() { return std::move(state_); }

   private:
    friend class RunGroup;
    const RunGroup& group_;
    std::shared_ptr<InterpreterState> state_;
  };
  // For a thread that sleeps in the pool until something is so: the pool is woken when the run is to stop.
  void WakeAtTheDeadline();

 private:
  using States = std::vector<std::shared_ptr<InterpreterState>>;

  RunGroup(std::shared_ptr<CancellationToken> token, ThreadPool* pool) : token_(std::move(token)), pool_(pool) {}
  void Wake(uint64_t number);
  void WakeAll();
  // With the lock held: takes states out of waiting_, to be posted after.
  States TakeAll();
  States TakeThoseThatWaitForThemselves();
  void SetAlarm();
  void Post(std::shared_ptr<InterpreterState> state);
  void PostAll(States states);

  const std::shared_ptr<CancellationToken> token_;
  ThreadPool* const pool_;
  std::mutex mutex_;
  size_t active_ = 1;         // on a thread or on the way to one
  uint64_t next_number_ = 0;  // of the next wait
  std::unordered_map<uint64_t, std::shared_ptr<InterpreterState>> waiting_;
  std::unordered_map<const c10::ivalue::Future*, std::shared_ptr<InterpreterState>> not_begun_;
  std::optional<ThreadPool::Timed> alarm_;
  std::atomic<bool> too_many_{false};
};

}  // namespace hearth
