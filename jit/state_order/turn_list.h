// Lets runs that share parts of some state go on side by side as if they had run one after the other, in the order in
// which they arrived. A run states beforehand, step by step, which parts it takes and gives back (StatePlan); it waits
// at a step until no run that arrived earlier still needs one of these parts in a way that conflicts. Readers share;
// runs whose parts differ do not meet; runs that write the same parts follow each other through them like work through
// the stages of a pipeline. A run waits only for earlier ones, so none waits for ever.
//
// Nobody blocks: a run that must wait gets a Future and leaves its thread.
//
// The order is that of basic timestamp ordering with accesses declared beforehand (conservative timestamp ordering).
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "jit/interpreter/interpreter.h"
#include "jit/state_order/state_plan.h"

namespace hearth {

// Thread-safe.
class TurnList : public std::enable_shared_from_this<TurnList> {
 public:
  using Steps = std::span<const StatePlan::Step>;

  // A place behind all runs that have arrived and not ended; it ends with the last reference to it. There are steps,
  // and they outlive it.
  std::shared_ptr<StateTurn> Arrive(Steps steps);
  // A place in each of two lists, taken at one moment: whoever is before the run in one is not behind it in the other.
  static std::pair<std::shared_ptr<StateTurn>, std::shared_ptr<StateTurn>> ArriveAtBoth(TurnList& a, Steps steps_of_a,
                                                                                        TurnList& b, Steps steps_of_b);

 private:
  class Turn;
  using Turns = std::list<Turn*>;
  using Future = c10::intrusive_ptr<c10::ivalue::Future>;

  // All are called with the lock held.
  void Append(Turn* turn);
  // Whether `turn` may take what it asks for, as far as the runs from `from` to its own place go; if not, it is put on
  // the list of the one that it waits for.
  bool Admit(Turn* turn, Turns::iterator from);
  // After `turn` gave something back: asks again for those who wait for it.
  std::vector<Future> Reconsider(Turn* turn, Turns::iterator from);

  std::mutex mutex_;
  Turns turns_;  // in the order of arrival
};

}  // namespace hearth
