#include "jit/state_order/state_gate.h"

#include <ATen/core/jit_type.h>

namespace hearth {
namespace {

using Future = c10::intrusive_ptr<c10::ivalue::Future>;

class TurnAtBoth final : public StateTurn {
 public:
  explicit TurnAtBoth(std::pair<std::shared_ptr<StateTurn>, std::shared_ptr<StateTurn>> turns)
      : turns_(std::move(turns)) {}

  Future Take(size_t step) override {
    Future first = turns_.first->Take(step);
    Future second = turns_.second->Take(step);
    if (first == nullptr || second == nullptr) return first == nullptr ? second : first;
    // The futures hold what waits for them and not the other way round: a run that ends while it waits leaves nothing.
    auto both = c10::make_intrusive<c10::ivalue::Future>(c10::NoneType::get());
    first->addCallback([second, both](c10::ivalue::Future&) {
      second->addCallback([both](c10::ivalue::Future&) { both->markCompleted(c10::IValue()); });
    });
    return both;
  }

 private:
  const std::pair<std::shared_ptr<StateTurn>, std::shared_ptr<StateTurn>> turns_;
};

}  // namespace

std::shared_ptr<StateTurn> StateGate::Arrive(const StatePlan& plan) {
  if (plan.generators.empty()) return plan.model.empty() ? nullptr : model_->Arrive(plan.model);
  if (plan.model.empty()) return generators_->Arrive(plan.generators);
  return std::make_shared<TurnAtBoth>(TurnList::ArriveAtBoth(*model_, plan.model, *generators_, plan.generators));
}

}  // namespace hearth
