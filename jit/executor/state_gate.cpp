#include "jit/executor/state_gate.h"

#include <utility>
#include <vector>

namespace hearth {

bool StateGate::Admissible(StateAccess access) const {
  return !exclusive_ && (access == StateAccess::kShared || shared_ == 0);
}

void StateGate::Admit(StateAccess access) {
  if (access == StateAccess::kShared) {
    ++shared_;
  } else {
    exclusive_ = true;
  }
}

bool StateGate::TryEnter(StateAccess access) {
  std::lock_guard lock(mutex_);
  if (!waiting_.empty() || !Admissible(access)) return false;
  Admit(access);
  return true;
}

void StateGate::Enter(StateAccess access, std::function<void()> start) {
  {
    std::lock_guard lock(mutex_);
    if (!waiting_.empty() || !Admissible(access)) {
      waiting_.push_back({access, std::move(start)});
      return;
    }
    Admit(access);
  }
  start();
}

void StateGate::Leave(StateAccess access) {
  std::vector<std::function<void()>> admitted;
  {
    std::lock_guard lock(mutex_);
    if (access == StateAccess::kShared) {
      --shared_;
    } else {
      exclusive_ = false;
    }
    while (!waiting_.empty() && Admissible(waiting_.front().access)) {
      Admit(waiting_.front().access);
      admitted.push_back(std::move(waiting_.front().start));
      waiting_.pop_front();
    }
  }
  for (auto& start : admitted) start();
}

}  // namespace hearth
