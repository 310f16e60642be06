// Makes the plans of one method.
//
// What all of them share is made with the first one: the places where runs can be taken up and the baseline's Code with
// its resume points, and the Code that samples of the calls run. A method that nobody calls costs nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "jit/analysis/argument_spec.h"
#include "jit/analysis/exact_shape.h"
#include "jit/analysis/liveness.h"
#include "jit/analysis/value_profile.h"
#include "jit/analysis/written_memory.h"
#include "jit/compiler/target.h"
#include "jit/executor/background_compiler.h"
#include "jit/executor/execution_plan.h"
#include "jit/fuser/runtime/kernel_source.h"
#include "jit/ir/graph.h"

namespace hearth {

class DerivedConstantTable;
class UnitEffects;

struct PlanRequest {
  const ArgumentSpec& spec;
  ValueProfile profile = {};               // of calls of that spec, as far as there is one
  std::set<size_t> deoptimised = {};       // numbers of values that are not to be guarded again
  uint32_t least_runs = 8;                 // that must have seen what is speculated on
  const ExactShape* shape = nullptr;       // the only one that the plan is for; null: for all
  const ExactShape* likely = nullptr;      // one that calls may well have; null: not known
  bool makes_kernels = true;               // as CompilationInputs'
  fuser::KernelSource* kernels = nullptr;  // in place of the compiler's
};

// The graph of a plan after its passes, of which no code is made yet.
struct OptimisedPlan {
  std::unique_ptr<Graph> graph;
  ExecutionPlan::Origin origin;
  std::chrono::nanoseconds time{0};  // that it took
  std::vector<std::string> kernels;  // texts of those that it would have and whose code was not made yet
};

// Thread-safe.
class PlanCompiler {
 public:
  // `baseline` is what the method's Code was made of, without later changes; it must outlive this, and its unit the
  // plans. With `guard_everywhere`, plans get a guard before every node that they may leave for the baseline at, for
  // tests that make one fail. `weights` as in CompilationInputs, shared by the model's methods, as `totals` and
  // `kernels`, each of which may be null; `state_writes` and `effects` are those of all of its methods. On a thread
  // with as many threads inside of operators as those have that will run the plans.
  PlanCompiler(const Graph& baseline, std::string function_name, bool guard_everywhere, DerivedConstantTable* weights,
               StateWrites state_writes, const UnitEffects* effects, std::shared_ptr<BailoutTotals> totals = nullptr,
               std::shared_ptr<fuser::KernelSource> kernels = nullptr);

  // The two stages of making a plan, which takes milliseconds and more. `progress`, which may be null, is told each
  // pass. They throw what a pass throws, which is a defect of the pass and not of the model, and what `progress`
  // throws.
  OptimisedPlan Optimise(const PlanRequest& request, CompileProgress* progress) const;
  std::unique_ptr<const ExecutionPlan> Generate(OptimisedPlan optimised, CompileProgress* progress) const;
  // Both.
  std::unique_ptr<const ExecutionPlan> Compile(const PlanRequest& request, CompileProgress* progress) const {
    return Generate(Optimise(request, progress), progress);
  }

  // Makes what all plans share, where that is not done yet; Optimise does so itself.
  void Prepare() const;
  // The rest after that: what a profile looks at, the baseline's Code that tells a run's samples of it, and
  // FingerprintOf the graph that a profile's numbers are of.
  std::span<const ProfileSite> sites() const { return sites_; }
  const std::shared_ptr<const Code>& observed() const { return observed_; }
  uint64_t fingerprint() const { return fingerprint_; }

 private:
  const Graph& baseline_;
  const std::string function_name_;
  const bool guard_everywhere_;
  DerivedConstantTable* const weights_;
  const StateWrites state_writes_;
  const UnitEffects* const effects_;
  const std::shared_ptr<BailoutTotals> totals_;
  const std::shared_ptr<fuser::KernelSource> kernels_;
  const Target target_ = Target::Host();
  mutable std::mutex mutex_;
  mutable std::vector<ResumePlace> anchors_;
  mutable std::vector<ProfileSite> sites_;
  mutable uint64_t fingerprint_ = 0;
  mutable std::shared_ptr<const Code> observed_;
  mutable std::shared_ptr<const Code> resumable_;  // null until the first plan
};

}  // namespace hearth
