// Keeps runs that write a model's attributes apart from all others, by queueing them and never by blocking a thread.
// Runs that only read share; a run that writes has the model to itself; both are admitted in the order they came, so
// neither starves.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>

namespace hearth {

enum class StateAccess { kShared, kExclusive };

// Thread-safe.
class StateGate {
 public:
  // Takes the access if it is free and nobody waits. Every granted access needs one Leave.
  bool TryEnter(StateAccess access);
  // Calls `start` as soon as the access is granted: before returning, or later from the thread whose Leave made room.
  // `start` must not throw and should only hand work to a pool.
  void Enter(StateAccess access, std::function<void()> start);
  void Leave(StateAccess access);

 private:
  struct Waiting {
    StateAccess access;
    std::function<void()> start;
  };
  bool Admissible(StateAccess access) const;
  void Admit(StateAccess access);

  std::mutex mutex_;
  std::deque<Waiting> waiting_;
  size_t shared_ = 0;
  bool exclusive_ = false;
};

}  // namespace hearth
