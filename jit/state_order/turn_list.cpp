#include "jit/state_order/turn_list.h"

#include <ATen/core/jit_type.h>

#include <algorithm>

namespace hearth {

class TurnList::Turn final : public StateTurn {
 public:
  Turn(std::shared_ptr<TurnList> list, Steps steps) : list_(std::move(list)), steps_(steps) {}

  ~Turn() override {
    std::vector<Future> admitted;
    {
      std::lock_guard lock(list_->mutex_);
      if (!own_.empty()) return;
      // A run that was told to stop may end while it waits.
      if (ready_ != nullptr) {
        for (Turn* other : list_->turns_) std::erase(other->waiting_, this);
      }
      const auto next = list_->turns_.erase(place_);
      admitted = list_->Reconsider(this, next);
    }
    Complete(admitted);
  }

  Future Take(size_t step) override {
    std::vector<Future> admitted;
    Future ready;
    {
      std::lock_guard lock(list_->mutex_);
      step_ = step;
      if (!list_->Admit(this, list_->turns_.begin())) {
        ready_ = ready = c10::make_intrusive<c10::ivalue::Future>(c10::NoneType::get());
      }
      admitted = list_->Reconsider(this, place_);
    }
    Complete(admitted);
    return ready;
  }

 private:
  friend class TurnList;

  // Out of the lock: whoever waits goes on from here, if only to its pool.
  static void Complete(const std::vector<Future>& admitted) {
    for (const Future& future : admitted) future->markCompleted(c10::IValue());
  }

  const StatePlan::Step& step() const { return steps_[step_]; }

  const std::shared_ptr<TurnList> list_;
  const Steps steps_;
  Turns own_{this};  // until it arrives: what goes into the list, made beforehand because that can fail
  // Under the list's lock:
  Turns::iterator place_ = own_.begin();
  size_t step_ = 0;
  Future ready_;                // while it waits
  std::vector<Turn*> waiting_;  // for this one
};

std::shared_ptr<StateTurn> TurnList::Arrive(Steps steps) {
  auto turn = std::make_shared<Turn>(shared_from_this(), steps);
  std::lock_guard lock(mutex_);
  Append(turn.get());
  return turn;
}

std::pair<std::shared_ptr<StateTurn>, std::shared_ptr<StateTurn>> TurnList::ArriveAtBoth(TurnList& a, Steps steps_of_a,
                                                                                         TurnList& b,
                                                                                         Steps steps_of_b) {
  auto turn_at_a = std::make_shared<Turn>(a.shared_from_this(), steps_of_a);
  auto turn_at_b = std::make_shared<Turn>(b.shared_from_this(), steps_of_b);
  std::scoped_lock lock(a.mutex_, b.mutex_);
  a.Append(turn_at_a.get());
  b.Append(turn_at_b.get());
  return {std::move(turn_at_a), std::move(turn_at_b)};
}

void TurnList::Append(Turn* turn) { turns_.splice(turns_.end(), turn->own_); }

bool TurnList::Admit(Turn* turn, Turns::iterator from) {
  const StateAccess& taken = turn->step().taken;
  if (taken.empty()) return true;
  for (auto earlier = from; earlier != turn->place_; ++earlier) {
    if (!taken.Conflicts((*earlier)->step().remaining)) continue;
    (*earlier)->waiting_.push_back(turn);
    return false;
  }
  return true;
}

std::vector<TurnList::Future> TurnList::Reconsider(Turn* turn, Turns::iterator from) {
  // What an earlier run has given back it does not need again: only from this one on there may be a reason to wait.
  std::vector<Future> admitted;
  for (Turn* waiting : std::exchange(turn->waiting_, {})) {
    if (Admit(waiting, from)) admitted.push_back(std::exchange(waiting->ready_, nullptr));
  }
  return admitted;
}

}  // namespace hearth
