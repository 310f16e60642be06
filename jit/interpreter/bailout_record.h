// How the runs of a plan left it for the baseline: counted while they run, read by people and by whoever decides
// whether the plan is worth keeping.
//
// A run leaves at most once: where a guard fails, or where an exception is thrown. The baseline then does that part of
// the work again. If it raises too, the exception was the model's own. If it does not, the plan alone has raised, which
// is a defect of the compiler's and is logged. A run that ends for another reason (cancelled, out of memory) says
// nothing of its exception.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "jit/ir/graph.h"
#include "jit/support/source_range.h"

namespace hearth {

// Of all plans of a model, those that are gone included.
struct BailoutTotals {
  std::atomic<uint64_t> bailouts{0};
  std::atomic<uint64_t> guard_failures{0};
  std::atomic<uint64_t> plan_exceptions{0};
};

// A guard of a plan.
struct GuardInfo {
  std::string claim;    // what it checks, in words; empty where no profile asked for it
  int64_t number = -1;  // of the Value that it is about (analysis/value_profile.h)
  SourceRange range;
};

// "model.py:12", of the user's own file where the archive tells; empty if there is no source.
std::string PlaceOf(const SourceRange& range);

// What an operator or a model threw, in a line: "builtins.ValueError: too small". Of its text the first line, bounded
// and escaped.
std::string ExceptionText(const std::exception_ptr& error);

// Thread-safe once the guards are in it.
class BailoutRecord {
 public:
  // `totals`, which may be null, are counted too.
  BailoutRecord(std::string function_name, std::shared_ptr<BailoutTotals> totals)
      : function_name_(std::move(function_name)), totals_(std::move(totals)) {}

  // Gives the guard's number.
  size_t AddGuard(GuardInfo guard);

  // Counts a run that leaves the plan; then why, of these three.
  void CountBailout();
  void CountGuardFailure(size_t guard);
  void CountModelException() { model_exceptions_.fetch_add(1, std::memory_order_relaxed); }
  // `node` of the plan threw `error`. Logged when it is the node's first.
  void CountPlanException(const Node& node, const std::exception_ptr& error);

  const std::deque<GuardInfo>& guards() const { return guards_; }
  uint64_t failures(size_t guard) const { return failures_[guard].load(std::memory_order_relaxed); }
  // Runs that left, and of those by why.
  uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  uint64_t guard_failures() const { return guard_failures_.load(std::memory_order_relaxed); }
  uint64_t model_exceptions() const { return model_exceptions_.load(std::memory_order_relaxed); }
  uint64_t plan_exceptions() const { return plan_exceptions_.load(std::memory_order_relaxed); }

  // Exceptions of one node that the plan alone threw.
  struct PlanException {
    std::string op;     // "hearth::convolution"
    std::string node;   // as PrintGraph shows it, bounded
    std::string where;  // "model.py:12"; empty where that is not known
    std::string text;   // ExceptionText of the first
    uint64_t runs = 0;
  };
  // Of the first kMostNodes nodes that threw; plan_exceptions() counts all.
  static constexpr size_t kMostNodes = 8;
  std::vector<PlanException> exceptions() const;

 private:
  struct OfNode {
    const Node* node;  // only to be compared
    PlanException exception;
  };

  const std::string function_name_;
  const std::shared_ptr<BailoutTotals> totals_;
  std::deque<GuardInfo> guards_;
  std::deque<std::atomic<uint64_t>> failures_;  // by guard
  std::atomic<uint64_t> count_{0};
  std::atomic<uint64_t> guard_failures_{0};
  std::atomic<uint64_t> model_exceptions_{0};
  std::atomic<uint64_t> plan_exceptions_{0};
  mutable std::mutex mutex_;
  std::vector<OfNode> exceptions_;  // under the lock
};

}  // namespace hearth
