// For tests of turns: accesses and steps from lists of parts, and a run that goes through them by hand.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "jit/interpreter/interpreter.h"
#include "jit/state_order/state_plan.h"

namespace hearth {

inline StateAccess Access(const std::vector<size_t>& reads, const std::vector<size_t>& writes) {
  StateAccess access;
  for (size_t part : reads) access.reads.Add(part);
  for (size_t part : writes) access.writes.Add(part);
  return access;
}

// Steps that each take something up and give it back at the next one.
inline std::vector<StatePlan::Step> Stages(const std::vector<StateAccess>& stages) {
  std::vector<StatePlan::Step> steps(stages.size() + 1);
  for (size_t i = 0; i < stages.size(); ++i) {
    steps[i].taken = stages[i];
    for (size_t k = 0; k <= i; ++k) steps[k].remaining.Add(stages[i]);
  }
  return steps;
}

class Passage {
 public:
  explicit Passage(std::shared_ptr<StateTurn> turn) : turn_(std::move(turn)) {}
  // Whether it may go on at once.
  bool Take(size_t step) {
    ready_ = turn_->Take(step);
    return IsAdmitted();
  }
  bool IsAdmitted() const { return ready_ == nullptr || ready_->completed(); }
  void End() { turn_ = nullptr; }
  const std::shared_ptr<StateTurn>& turn() const { return turn_; }

 private:
  std::shared_ptr<StateTurn> turn_;
  c10::intrusive_ptr<c10::ivalue::Future> ready_;
};

}  // namespace hearth
