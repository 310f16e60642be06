// The time and memory that loading one model may take, and whether it is to end, seen by everything that works on it:
// the front end and the passes ask at each statement and node, since an archive of a few kilobytes can keep either busy
// without end.
//
// A LoadBudget belongs to the thread that loads and is on it from construction to destruction; on other threads, and
// without one, asking costs a comparison. Memory is the thread's MemoryAccount. Activities say what loading is doing,
// for the error.
#pragma once

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <stop_token>
#include <string>

namespace hearth {

// Loading took longer than it may.
class LoadTimeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Nobody wants the model any more.
class LoadStoppedError : public std::runtime_error {
 public:
  LoadStoppedError() : std::runtime_error("loading was stopped") {}
};

class LoadBudget {
 public:
  using Clock = std::chrono::steady_clock;

  // From now on; 0 is no limit of time.
  explicit LoadBudget(std::chrono::nanoseconds time_limit, std::stop_token stop = {});
  ~LoadBudget();
  LoadBudget(const LoadBudget&) = delete;
  LoadBudget& operator=(const LoadBudget&) = delete;

  // Clock::time_point::max() if there is none.
  Clock::time_point deadline() const { return deadline_; }
  // "loading took longer than the 300 s that it may take".
  std::string TimeMessage() const;
  // ", while compiling __torch__.M.forward": what was under way when an exception passed; empty if nothing was.
  const std::string& Interrupted() const { return interrupted_; }

  // Throws LoadTimeError, MemoryLimitError or LoadStoppedError if this thread loads a model that has passed a limit or
  // is to end. Looks at them every so many times.
  static void Check() {
    if (current_ != nullptr) current_->CheckNow();
  }
  // Throws LoadStoppedError if this thread loads a model that is to end: also in a Pause, and between long steps.
  static void CheckStopped() {
    if (current_ != nullptr && current_->stop_.stop_requested()) throw LoadStoppedError();
  }

  // The time until the end of the scope is not counted: weights come as fast as the disk gives them.
  class Pause {
   public:
    Pause() = default;
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    const Clock::time_point begin_ = Clock::now();
  };

  // What loading does until the end of the scope: "compiling ", of what. `of` must outlive it. Activities nest.
  class Activity {
   public:
    Activity(const char* doing, const std::string& of);
    ~Activity();
    Activity(const Activity&) = delete;
    Activity& operator=(const Activity&) = delete;

   private:
    const char* doing_;
    const std::string& of_;
    int exceptions_;
  };

 private:
  void CheckNow();

  static thread_local constinit LoadBudget* current_;

  LoadBudget* const outer_;
  const std::chrono::nanoseconds time_limit_;
  Clock::time_point deadline_;
  const std::stop_token stop_;
  uint32_t asked_ = 0;
  std::string interrupted_;
};

}  // namespace hearth
