// What answers the calls of one method whose arguments are of one spec, in place of the baseline: an executable made of
// an optimised copy of the baseline graph, which goes back to the baseline wherever it cannot go on.
//
// Immutable once made, but for its counts of calls and bailouts and for recordings of its runs; shared by the cache and
// the runs that use it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jit/compiler/report.h"
#include "jit/executor/captured_plan.h"
#include "jit/interpreter/cancellation.h"
#include "jit/interpreter/plan_executable.h"

namespace hearth {

class ExecutionPlan {
 public:
  struct Origin {
    size_t speculation_sites = 0;  // how many values would be guarded if a profile said so
    std::string shape;             // of the one that it is for; empty: for all
    bool lacks_room = false;
    bool lacks_kernels = false;                        // because they were not made yet
    std::vector<CompilationReport::Step> passes = {};  // that made it, in order
    CompilationReport::Memory memory = {};
    std::shared_ptr<CapturedPlan> captured = nullptr;  // its runs on a GPU, where they may be recorded
  };
  ExecutionPlan(std::unique_ptr<const PlanExecutable> executable, std::chrono::nanoseconds compile_time,
                const Origin& origin);

  const PlanExecutable& executable() const { return *executable_; }
  std::chrono::nanoseconds compile_time() const { return compile_time_; }
  size_t speculation_sites() const { return origin_.speculation_sites; }
  // Whether there was no room for a constant that it would have: it may be slower than one that was made earlier.
  bool lacks_room() const { return origin_.lacks_room; }
  // Whether it would have kernels that were not made yet. Once, to the first who means to make it again; PutBackRetry
  // if he does not.
  bool lacks_kernels() const { return origin_.lacks_kernels; }
  bool TakeRetry() const { return origin_.lacks_kernels && !retried_.exchange(true, std::memory_order_relaxed); }
  void PutBackRetry() const { retried_.store(false, std::memory_order_relaxed); }
  bool has_kernels() const { return has_kernels_; }
  struct Kernel {
    std::string text;                  // loop IR
    std::vector<std::string> results;  // of each node that calls it: "%y, %z"
    size_t bytes = 0;                  // of machine code
    bool set_aside = false;            // its results were wrong, and runs leave the plan there
  };
  // Each once, in the order of the graph.
  std::vector<Kernel> kernels() const;
  const std::vector<CompilationReport::Step>& passes() const { return origin_.passes; }
  const CompilationReport::Memory& memory() const { return origin_.memory; }
  // Null where its runs are not recorded.
  CapturedPlan* captured() const { return origin_.captured.get(); }
  // The sizes that arguments must have; empty: any.
  const std::string& shape() const { return origin_.shape; }
  unsigned tier() const { return origin_.shape.empty() ? 1 : 2; }
  // About how many calls it was found for.
  uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }
  void AddCalls(uint64_t calls) const { calls_.fetch_add(calls, std::memory_order_relaxed); }
  // Guards that runs may fail.
  uint32_t num_guards() const;
  struct Guard {
    std::string claim;  // what it checks, in words; empty where no profile asked for it
    std::string where;  // "model.py:12"; empty where that is not known
    uint64_t failures = 0;
  };
  std::vector<Guard> guards() const;
  // Whether a profile asked for some of them.
  bool speculates() const;
  // Whether those fail in so many of its calls that a plan without them would be better.
  bool NeedsDeoptimisation() const;
  // The numbers of the values whose guards failed.
  std::vector<size_t> FailedSites() const;
  // Whether it raises in so many of its calls, and the baseline does not, that none would be better. A pass has made a
  // mistake, or none of these calls needs what the plan computes beforehand.
  bool IsMistaken() const;
  // About what it takes beside the tensors that it shares with the model.
  size_t bytes() const { return sizeof(*this) + executable_->bytes(); }

 private:
  const std::unique_ptr<const PlanExecutable> executable_;
  const std::chrono::nanoseconds compile_time_;
  const Origin origin_;
  const bool has_kernels_;
  mutable std::atomic<uint64_t> calls_{0};
  mutable std::atomic<bool> retried_{false};
};

// CapturedPlan::Record, of the plan's code.
void RecordRuns(const ExecutionPlan& plan, std::vector<c10::IValue> arguments, size_t own, const c10::Stream& made_on,
                const std::shared_ptr<CancellationToken>& token);

}  // namespace hearth
