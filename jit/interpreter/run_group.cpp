#include "jit/interpreter/run_group.h"

#include <string>
#include <utility>

#include "jit/interpreter/state.h"
#include "jit/support/memory_account.h"
#include "jit/support/resource_error.h"

namespace hearth {
namespace {

constexpr size_t kMaxStates = 100000;
// For forks that nobody waits for and nobody can cancel any more.
constexpr std::chrono::seconds kTimeAfterTheRun{60};

}  // namespace

ForkLimitError::ForkLimitError()
    : std::runtime_error("a request may have " + std::to_string(kMaxStates) + " forks under way at once, not more") {}

std::shared_ptr<RunGroup> RunGroup::Create(std::shared_ptr<CancellationToken> token, ThreadPool* pool) {
  std::shared_ptr<RunGroup> group(new RunGroup(std::move(token), pool));
  if (group->token_ != nullptr) {
    group->token_->SetWaker([weak = std::weak_ptr(group)] {
      if (const auto alive = weak.lock()) alive->WakeAll();
    });
  }
  return group;
}

void RunGroup::BeginFork() {
  std::lock_guard lock(mutex_);
  if (active_ + waiting_.size() >= kMaxStates) {
    too_many_.store(true, std::memory_order_relaxed);
    throw ForkLimitError();
  }
  ++active_;
}

void RunGroup::CheckForks() const {
  if (too_many_.load(std::memory_order_relaxed)) throw ForkLimitError();
}

std::exception_ptr RunGroup::ReasonToStop() const {
  using Reason = CancelledError::Reason;
  if (token_ != nullptr && token_->ShouldStop()) {
    return std::make_exception_ptr(CancelledError(token_->cancelled() ? Reason::kCancelled : Reason::kDeadline));
  }
  if (!too_many_.load(std::memory_order_relaxed)) return nullptr;
  const std::string message = ForkLimitError().what();
  return std::make_exception_ptr(ResourceError("RuntimeError", message, message));
}

void RunGroup::EndFork() {
  States stuck;
  {
    std::lock_guard lock(mutex_);
    if (--active_ == 0) stuck = TakeThoseThatWaitForThemselves();
    if (active_ == 0 && waiting_.empty() && alarm_) pool_->Forget(*std::exchange(alarm_, std::nullopt));
  }
  Post(std::move(stuck));
}

void RunGroup::EndRun() {
  EndFork();
  std::lock_guard lock(mutex_);
  if (token_ == nullptr || token_->deadline() || active_ + waiting_.size() == 0) return;
  token_->SetDeadline(std::chrono::steady_clock::now() + kTimeAfterTheRun);
  if (!waiting_.empty()) SetAlarm();
}

void RunGroup::Suspend(std::shared_ptr<InterpreterState> state) {
  InterpreterState* const key = state.get();
  const auto future = state->waiting_for();
  States go_on;
  {
    std::lock_guard lock(mutex_);
    SetAlarm();
    waiting_.emplace(key, std::move(state));
    --active_;
    if (token_ != nullptr && token_->ShouldStop()) {
      go_on = TakeAll();
    } else if (active_ == 0 && !future->completed()) {
      go_on = TakeThoseThatWaitForThemselves();
    }
  }
  Post(std::move(go_on));
  // The address may belong to another state by the time this is called; a state that is woken for nothing asks its
  // future again and comes back.
  future->addCallback([self = shared_from_this(), key](c10::ivalue::Future&) { self->Wake(key); });
}

void RunGroup::Wake(InterpreterState* state) {
  MemoryAccount::Scope uncounted(nullptr);
  States woken;
  {
    std::lock_guard lock(mutex_);
    const auto found = waiting_.find(state);
    if (found == waiting_.end()) return;
    woken.push_back(std::move(found->second));
    waiting_.erase(found);
    ++active_;
  }
  Post(std::move(woken));
}

void RunGroup::WakeAll() {
  States woken;
  {
    std::lock_guard lock(mutex_);
    woken = TakeAll();
  }
  Post(std::move(woken));
  if (pool_ != nullptr) pool_->Wake();
}

void RunGroup::WakeAtTheDeadline() {
  std::lock_guard lock(mutex_);
  SetAlarm();
}

RunGroup::States RunGroup::TakeAll() {
  States taken;
  for (auto& [key, state] : waiting_) taken.push_back(std::move(state));
  waiting_.clear();
  active_ += taken.size();
  return taken;
}

RunGroup::States RunGroup::TakeThoseThatWaitForThemselves() {
  // Each waiting state waits for one future, which at most one of them will complete: walk from state to state until
  // there is none or one that this walk has seen.
  std::unordered_map<const c10::ivalue::Future*, InterpreterState*> maker;
  for (const auto& [key, state] : waiting_) {
    if (state->future() != nullptr) maker[state->future().get()] = key;
  }
  const auto next = [&](const InterpreterState* state) -> InterpreterState* {
    const auto found = maker.find(state->waiting_for().get());
    return found == maker.end() ? nullptr : found->second;
  };
  std::unordered_map<const InterpreterState*, const InterpreterState*> seen_from;
  std::vector<InterpreterState*> stuck;
  for (const auto& [start, state] : waiting_) {
    InterpreterState* at = start;
    while (at != nullptr && seen_from.emplace(at, start).second) at = next(at);
    if (at == nullptr || seen_from[at] != start) continue;
    InterpreterState* const first = at;
    do {
      stuck.push_back(at);
      at = next(at);
    } while (at != first);
  }
  States taken;
  for (InterpreterState* state : stuck) {
    state->FailTheWait();
    const auto found = waiting_.find(state);
    taken.push_back(std::move(found->second));
    waiting_.erase(found);
  }
  active_ += taken.size();
  return taken;
}

void RunGroup::SetAlarm() {
  if (alarm_ || token_ == nullptr || !token_->deadline()) return;
  alarm_ = pool_->PostAt(*token_->deadline(), [weak = weak_from_this()] {
    if (const auto alive = weak.lock()) alive->WakeAll();
  });
}

void RunGroup::Post(States states) {
  MemoryAccount::Scope uncounted(nullptr);
  for (auto& state : states) pool_->Post([state = std::move(state)] { state->Resume(); });
}

}  // namespace hearth
