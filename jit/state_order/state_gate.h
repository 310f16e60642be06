// The order in which one model's runs touch its state: a list of turns of its own, and beside it the list of the
// process's random generators, which is every model's. So runs of different models meet only where both draw random
// numbers or seed them.
//
// A run that is in both lists takes its two places at one moment. Every list is thus in the order of these moments, a
// run waits only for earlier ones whatever list it waits in, and none waits in a circle.
#pragma once

#include <memory>
#include <utility>

#include "jit/state_order/turn_list.h"

namespace hearth {

// Thread-safe.
class StateGate {
 public:
  // `generators`: the process's.
  explicit StateGate(std::shared_ptr<TurnList> generators) : generators_(std::move(generators)) {}

  // A place behind all runs that have arrived and not ended and that share something with this one; null for a plan
  // that shares nothing. It ends with the last reference to it. `plan` must outlive it.
  std::shared_ptr<StateTurn> Arrive(const StatePlan& plan);

 private:
  const std::shared_ptr<TurnList> model_ = std::make_shared<TurnList>();
  const std::shared_ptr<TurnList> generators_;
};

}  // namespace hearth
