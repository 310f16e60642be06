#include "jit/executor/state_gate.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <utility>

namespace hearth {

class StateGate::Turn final : public StateTurn {
 public:
  Turn(std::shared_ptr<StateGate> gate, const StatePlan& plan) : gate_(std::move(gate)), plan_(plan) {
    std::lock_guard lock(gate_->mutex_);
    place_ = gate_->turns_.insert(gate_->turns_.end(), this);
  }

  ~Turn() override {
    std::vector<Future> admitted;
    {
      std::lock_guard lock(gate_->mutex_);
      // A run that was told to stop may end while it waits.
      if (ready_ != nullptr) {
        for (Turn* other : gate_->turns_) std::erase(other->waiting_, this);
      }
      const auto next = gate_->turns_.erase(place_);
      admitted = gate_->Reconsider(this, next);
    }
    Complete(admitted);
  }

  Future Take(size_t step) override {
    std::vector<Future> admitted;
    Future ready;
    {
      std::lock_guard lock(gate_->mutex_);
      step_ = step;
      if (!gate_->Admit(this, gate_->turns_.begin())) {
        ready_ = ready = c10::make_intrusive<c10::ivalue::Future>(c10::NoneType::get());
      }
      admitted = gate_->Reconsider(this, place_);
    }
    Complete(admitted);
    return ready;
  }

 private:
  friend class StateGate;

  // Out of the lock: whoever waits goes on from here, if only to its pool.
  static void Complete(const std::vector<Future>& admitted) {
    for (const Future& future : admitted) future->markCompleted(c10::IValue());
  }

  bool ConflictsWith(const Turn& earlier) const {
    const StateAccess& taken = step().taken;
    const StateAccess& remaining = earlier.step().remaining;
    if (plan_.model == earlier.plan_.model) return taken.Conflicts(remaining);
    return taken.ConflictsOverGenerators(remaining);
  }
  const StatePlan::Step& step() const { return plan_.steps[step_]; }

  const std::shared_ptr<StateGate> gate_;
  const StatePlan& plan_;
  // Under the gate's lock:
  std::list<Turn*>::iterator place_;
  size_t step_ = 0;
  Future ready_;                // while it waits
  std::vector<Turn*> waiting_;  // for this one
};

std::shared_ptr<StateTurn> StateGate::Arrive(const StatePlan& plan) {
  return std::make_shared<Turn>(shared_from_this(), plan);
}

bool StateGate::Admit(Turn* turn, std::list<Turn*>::iterator from) {
  for (auto earlier = from; earlier != turn->place_; ++earlier) {
    if (!turn->ConflictsWith(**earlier)) continue;
    (*earlier)->waiting_.push_back(turn);
    return false;
  }
  return true;
}

std::vector<StateGate::Future> StateGate::Reconsider(Turn* turn, std::list<Turn*>::iterator from) {
  // What an earlier run has given back it does not need again: only from this one on there may be a reason to wait.
  std::vector<Future> admitted;
  for (Turn* waiting : std::exchange(turn->waiting_, {})) {
    if (Admit(waiting, from)) admitted.push_back(std::exchange(waiting->ready_, nullptr));
  }
  return admitted;
}

}  // namespace hearth
