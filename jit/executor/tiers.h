// Which code answers a call of a model: the plan made for its arguments' spec if there is one by now, else the
// baseline. Counts what is called and has plans made in the background of what is called often; no call waits for that.
#pragma once

#include <ATen/core/ivalue.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jit/executor/background_compiler.h"
#include "jit/executor/code_cache.h"
#include "jit/executor/entry_profile.h"
#include "jit/executor/known_arguments.h"
#include "jit/executor/plan_compiler.h"
#include "jit/executor/shadow_runs.h"
#include "jit/interpreter/code.h"
#include "jit/support/disposal_thread.h"
#include "jit/weights/derived_constants.h"

namespace hearth {

// What the models of a process share.
struct TierSettings {
  // Null: nothing is compiled in the background.
  std::shared_ptr<BackgroundCompiler> compiler;
  std::shared_ptr<CodeCacheBudget> budget;
  CodeCache::Settings cache;
  // What the copies of weights that plans are made with may take; null: no bound beside each model's own.
  std::shared_ptr<DerivedConstantBudget> copies;
  // Where plans end that nobody holds any more; null: with the last reference.
  std::shared_ptr<DisposalQueue> disposal;
  // Checks a sample of what plans answer; null: nothing is checked.
  std::shared_ptr<ShadowRuns> shadow;
  // Every call waits for the plan for its arguments (command line and tests).
  bool forced = false;
  // Runs that make a profile of the calls of one spec; 0: nothing is profiled.
  uint32_t profile_runs = EntryProfile::kRuns;
  // Calls of one shape, after which there is a plan for that alone; 0: there never is.
  uint64_t exact_after = 256;
  // Every call waits for the plan for its exact shape; with `forced`.
  bool forced_exact = false;
  // With `forced`: a call of a kind that no run was seen of is the run that is seen, in the baseline; the plans of
  // others take for granted what one run showed.
  bool forced_profile = false;
  unsigned max_retired = 3;  // how many plans of one spec may take for granted what does not hold
  // For tests: plans have guards everywhere, and each call makes one of them fail, picked by this seed.
  std::optional<uint64_t> fail_guards;
};

// Thread-safe.
class Tiers {
 public:
  struct Method {
    std::string name;  // for people
    const Graph* baseline;
    const UnitEffects* effects = nullptr;  // of the unit
  };
  // `methods` in the order of their numbers; their graphs and effects must outlive this, and the unit the plans.
  // `writes_weights`: some method may write tensors of the model.
  Tiers(TierSettings settings, const std::vector<Method>& methods, bool writes_weights);
  // Waits for a compilation of this model that is under way.
  ~Tiers();

  // What a call runs in place of the baseline's Code.
  struct Choice {
    std::shared_ptr<const ExecutionPlan> plan;  // null: the baseline
    std::shared_ptr<const Code> observed;       // where the call is sampled: the baseline's Code that fills `samples`
    std::shared_ptr<RunSamples> samples;
    int32_t failing_guard = -1;
  };
  // Never waits but where the settings say `forced`; then it throws what compiling throws. Where guards are made to
  // fail, `failing_guard` is the number of the one that does, of so many as the plan has; null: one is drawn.
  Choice Choose(size_t method, std::span<const c10::IValue> arguments,
                std::optional<uint64_t> failing_guard = std::nullopt);

  // Null: no call is checked.
  ShadowRuns* shadow() const { return settings_.shadow.get(); }

  // Waits until what has been asked for is compiled. False if it is not by `deadline`.
  bool WaitUntilIdle(std::chrono::steady_clock::time_point deadline) const;
  // Asks for a plan for all that was called so far, be it once, and calls `done` when nothing is left to compile: as
  // CompileClient::WhenIdle. May wait for locks of the compiler's.
  std::shared_ptr<const void> WhenWarm(std::function<void()> done);

  // The kinds of arguments that were called often enough to be compiled, for a later process; with no calls those that
  // could not be.
  std::vector<KnownArguments> Known() const;
  // Asks for the plans of what an earlier process or load knew, the most called first, and when those for all sizes are
  // made for the ones for some alone; how many kinds that are. Its calls count half. What does not belong to this
  // archive, whatever it is, is left out. May wait for locks of the compiler's.
  size_t Recall(std::vector<KnownArguments> known, const StoredSpec::FindClass& find_class);

  struct Plan {
    std::string method;
    std::string spec;
    CodeEntry::State state;
    uint64_t calls;
    std::shared_ptr<const ExecutionPlan> plan;  // null if there is none
  };
  // One for each spec without a plan, and one for each plan.
  std::vector<Plan> plans() const;
  struct Counts {
    size_t specs = 0;
    size_t failed = 0;
    size_t plans[2] = {0, 0};  // of tiers 1 and 2
    size_t bytes = 0;
    size_t copied_bytes = 0;  // of weights that were packed or folded for plans
    // Of the model's whole life, whatever became of the plans:
    uint64_t bailouts = 0;
    uint64_t guard_failures = 0;
    uint64_t plan_exceptions = 0;   // of the bailouts: for what the plan raised and the baseline did not
    uint64_t invalidated = 0;       // plans that did so too often
    uint64_t calls[3] = {0, 0, 0};  // by the tier that began them, the baseline first; estimated beyond the first few
  };
  Counts counts() const;
  // Of its methods, just now. May wait for locks of the compiler's.
  std::vector<BackgroundCompiler::Running> compiling() const;

 private:
  // One that does nothing yet.
  CompileJob NewJob(const std::shared_ptr<CodeEntry>& entry);
  // The first plan, and then those for the shapes that had one of their own before.
  CompileJob JobFor(const std::shared_ptr<CodeEntry>& entry);
  // A plan made of the entry's profile in place of the one that it has.
  CompileJob JobOfProfile(const std::shared_ptr<CodeEntry>& entry);
  // A plan for that shape alone, of which so many `calls` are known.
  CompileJob JobOfShape(const std::shared_ptr<CodeEntry>& entry, const ExactShape& shape, uint64_t calls);
  // `shape`: for that alone; null: for all.
  std::shared_ptr<const ExecutionPlan> Compile(CodeEntry& entry, const ExactShape* shape, CompileProgress* progress);
  std::shared_ptr<const ExecutionPlan> Compile(size_t method, const PlanRequest& request,
                                               CompileProgress* progress) const;
  // What follows from the profile of a call's entry, for this call and for the plans.
  void HeedProfile(const CodeCache::Found& found, std::span<const c10::IValue> arguments, Choice* choice);
  // Takes back a plan that raises where the baseline does not.
  void Withdraw(CodeEntry& entry, const ExecutionPlan& plan);
  // Gives the entry a profile that goes on from what was known earlier, where that is of this baseline.
  void Profile(CodeEntry& entry, uint32_t runs);
  std::shared_ptr<const ExecutionPlan> Force(size_t method, const ArgumentSpec& spec,
                                             std::span<const c10::IValue> arguments, Choice* choice);

  const TierSettings settings_;
  std::vector<std::string> names_;
  std::vector<size_t> inputs_;  // how many, by method
  DerivedConstantTable derived_;
  const std::shared_ptr<BailoutTotals> totals_ = std::make_shared<BailoutTotals>();
  std::atomic<uint64_t> calls_[3] = {};  // by tier
  std::atomic<uint64_t> invalidated_{0};
  std::vector<std::unique_ptr<PlanCompiler>> compilers_;  // by method
  CodeCache cache_;
  std::atomic<uint64_t> forced_calls_{0};
  std::mutex asking_;                    // held from taking what is to be compiled to asking for it
  std::optional<CompileClient> client_;  // its end is the first step of this one's
};

}  // namespace hearth
