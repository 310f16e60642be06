#include "jit/support/load_budget.h"

#include <cstdio>
#include <exception>
#include <utility>

#include "jit/support/memory_account.h"

namespace hearth {
namespace {

// The clock is looked at every so many times.
constexpr uint32_t kStride = 64;

}  // namespace

thread_local constinit LoadBudget* LoadBudget::current_ = nullptr;

LoadBudget::LoadBudget(std::chrono::nanoseconds time_limit, std::stop_token stop)
    : outer_(current_),
      time_limit_(time_limit),
      deadline_(time_limit.count() > 0 ? Clock::now() + time_limit : Clock::time_point::max()),
      stop_(std::move(stop)) {
  current_ = this;
}

LoadBudget::~LoadBudget() { current_ = outer_; }

std::string LoadBudget::TimeMessage() const {
  char text[80];
  std::snprintf(text, sizeof text, "loading took longer than it may: more than %g s",
                std::chrono::duration<double>(time_limit_).count());
  return text;
}

void LoadBudget::CheckNow() {
  if (++asked_ % kStride != 0) return;
  CheckStopped();
  MemoryAccount::CheckThread();
  if (deadline_ != Clock::time_point::max() && Clock::now() >= deadline_) throw LoadTimeError(TimeMessage());
}

LoadBudget::Pause::~Pause() {
  if (current_ == nullptr || current_->deadline_ == Clock::time_point::max()) return;
  current_->deadline_ += Clock::now() - begin_;
}

LoadBudget::Activity::Activity(const char* doing, const std::string& of)
    : doing_(doing), of_(of), exceptions_(std::uncaught_exceptions()) {
  // An exception that came by earlier did not end the load.
  if (current_ != nullptr) current_->interrupted_.clear();
}

LoadBudget::Activity::~Activity() {
  if (current_ == nullptr || std::uncaught_exceptions() == exceptions_ || !current_->interrupted_.empty()) return;
  current_->interrupted_ = std::string(", while ") + doing_ + of_;
}

}  // namespace hearth
