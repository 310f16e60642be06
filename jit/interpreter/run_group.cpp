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

thread_local RunGroup::Successor* successor_here = nullptr;

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

RunGroup::Successor::Successor(const RunGroup& group) : group_(group) { successor_here = this; }

RunGroup::Successor::~Successor() { successor_here = nullptr; }

void RunGroup::BeginFork(std::shared_ptr<InterpreterState> fork) {
  MemoryAccount::Scope uncounted(nullptr);
  const c10::ivalue::Future* const future = fork->future().get();
  {
    std::lock_guard lock(mutex_);
    if (active_ + waiting_.size() >= kMaxStates) {
      too_many_.store(true, std::memory_order_relaxed);
      throw ForkLimitError();
    }
    not_begun_.emplace(future, std::move(fork));
    ++active_;
  }
  // Where the fork was taken before and its future's memory is that of another one now, that is taken instead, and
  // finds itself taken when it is its turn.
  pool_->Post([self = shared_from_this(), future] { InterpreterState::Resume(self->TakeFork(future)); });
}

std::shared_ptr<InterpreterState> RunGroup::TakeFork(const c10::ivalue::Future* future) {
  MemoryAccount::Scope uncounted(nullptr);
  std::lock_guard lock(mutex_);
  const auto found = not_begun_.find(future);
  if (found == not_begun_.end()) return nullptr;
  std::shared_ptr<InterpreterState> fork = std::move(found->second);
  not_begun_.erase(found);
  return fork;
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
  PostAll(std::move(stuck));
}

void RunGroup::EndRun() {
  EndFork();
  std::lock_guard lock(mutex_);
  if (token_ == nullptr || active_ + waiting_.size() == 0) return;
  const auto end = std::chrono::steady_clock::now() + kTimeAfterTheRun;
  // What bounds a run that nobody gave a deadline bounds its forks, but gives them no more time.
  const auto deadline = token_->deadline();
  if (deadline && (!token_->limited() || *deadline <= end)) return;
  token_->SetDeadline(end);
  if (alarm_) pool_->Forget(*std::exchange(alarm_, std::nullopt));
  if (!waiting_.empty()) SetAlarm();
}

void RunGroup::Suspend(std::shared_ptr<InterpreterState> state) {
  uint64_t number = 0;
  const auto future = state->waiting_for();
  States go_on;
  {
    std::lock_guard lock(mutex_);
    SetAlarm();
    number = next_number_++;
    waiting_.emplace(number, std::move(state));
    --active_;
    if (token_ != nullptr && token_->ShouldStop()) {
      go_on = TakeAll();
    } else if (active_ == 0 && !future->completed()) {
      go_on = TakeThoseThatWaitForThemselves();
    }
  }
  PostAll(std::move(go_on));
  future->addCallback([self = shared_from_this(), number](c10::ivalue::Future&) { self->Wake(number); });
}

void RunGroup::Wake(uint64_t number) {
  MemoryAccount::Scope uncounted(nullptr);
  std::shared_ptr<InterpreterState> woken;
  {
    std::lock_guard lock(mutex_);
    const auto found = waiting_.find(number);
    if (found == waiting_.end()) return;
    woken = std::move(found->second);
    waiting_.erase(found);
    ++active_;
  }
  if (successor_here != nullptr && &successor_here->group_ == this && successor_here->state_ == nullptr) {
    successor_here->state_ = std::move(woken);
  } else {
    Post(std::move(woken));
  }
}

void RunGroup::WakeAll() {
  States woken;
  {
    std::lock_guard lock(mutex_);
    woken = TakeAll();
  }
  PostAll(std::move(woken));
  if (pool_ != nullptr) pool_->Wake();
}

void RunGroup::WakeAtTheDeadline() {
  std::lock_guard lock(mutex_);
  SetAlarm();
}

RunGroup::States RunGroup::TakeAll() {
  States taken;
  for (auto& [number, state] : waiting_) taken.push_back(std::move(state));
  waiting_.clear();
  active_ += taken.size();
  return taken;
}

RunGroup::States RunGroup::TakeThoseThatWaitForThemselves() {
  // Each waiting state waits for one future, which at most one of them will complete: walk from state to state until
  // there is none or one that this walk has seen.
  std::unordered_map<const c10::ivalue::Future*, uint64_t> maker;
  for (const auto& [number, state] : waiting_) {
    if (state->future() != nullptr) maker[state->future().get()] = number;
  }
  const auto next = [&](uint64_t number) -> std::optional<uint64_t> {
    const auto found = maker.find(waiting_[number]->waiting_for().get());
    return found == maker.end() ? std::nullopt : std::optional(found->second);
  };
  std::unordered_map<uint64_t, uint64_t> seen_from;
  std::vector<uint64_t> stuck;
  for (const auto& [start, state] : waiting_) {
    std::optional<uint64_t> at = start;
    while (at && seen_from.emplace(*at, start).second) at = next(*at);
    if (!at || seen_from[*at] != start) continue;
    const uint64_t first = *at;
    do {
      stuck.push_back(*at);
      at = next(*at);
    } while (*at != first);
  }
  States taken;
  for (const uint64_t number : stuck) {
    const auto found = waiting_.find(number);
    found->second->FailTheWait();
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

void RunGroup::Post(std::shared_ptr<InterpreterState> state) {
  pool_->Post([state = std::move(state)]() mutable { InterpreterState::Resume(std::move(state)); });
}

void RunGroup::PostAll(States states) {
  MemoryAccount::Scope uncounted(nullptr);
  for (auto& state : states) Post(std::move(state));
}

}  // namespace hearth
