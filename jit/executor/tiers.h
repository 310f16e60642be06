// Which code answers a call of a model: the plan made for its arguments' spec if there is one by now, else the
// baseline. This is the policy alone: it counts what is called, asks for plans of what is called often
// (compile_jobs.h), and invalidates those that do not do well. No call waits for any of it.
#pragma once

#include <ATen/core/ivalue.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "jit/analysis/written_memory.h"
#include "jit/executor/compile_jobs.h"
#include "jit/executor/forced_plans.h"
#include "jit/executor/model_plans.h"
#include "jit/executor/plan_choice.h"
#include "jit/executor/profile_transfer.h"
#include "jit/executor/tier_report.h"

namespace hearth {

// Thread-safe.
class Tiers {
 public:
  // As ModelPlans takes them.
  Tiers(TierSettings settings, const std::vector<ModelPlans::Method>& methods, StateWrites state_writes);
  // Waits for a compilation of this model that is under way.
  ~Tiers();

  // Never waits but where the settings say `forced`; then it throws what compiling throws.
  PlanChoice Choose(size_t method, std::span<const c10::IValue> arguments, const ChoiceRequest& request = {});

  // The plan answered a call otherwise than the baseline: finds out by running the call again which of its kernels are
  // to blame, if any are, and sets them aside; a plan without them is asked for. Takes long.
  void CheckKernels(size_t method, const ArgumentSpec& spec, const std::optional<ExactShape>& shape,
                    const ExecutionPlan& plan, const ShadowRuns::Difference& difference);

  // Has runs of the plan recorded with copies of these arguments, of which the first `own` are the model's: in the
  // background, or at once where calls wait for plans. The caller has taken the plan's turn.
  void Record(size_t method, const std::shared_ptr<const ExecutionPlan>& plan, std::span<const c10::IValue> arguments,
              size_t own, const c10::Stream& stream);

  // Null: no call is checked.
  ShadowRuns* shadow() const { return plans_.settings().shadow.get(); }

  // As those of CompileJobs; where nothing is compiled in the background there is nothing to wait for.
  bool WaitUntilIdle(std::chrono::steady_clock::time_point deadline) const;
  std::shared_ptr<const void> WhenWarm(std::function<void()> done);

  // For another load of the archive (profile_transfer.h).
  std::vector<SpecProfile> profiles() const { return CollectProfiles(plans_); }
  size_t RestoreProfiles(std::vector<SpecProfile> profiles, const StoredSpec::FindClass& find_class);

  // For people.
  std::vector<ListedPlan> plans() const { return ListPlans(plans_); }
  TierCounts counts() const;
  // Of its methods, just now. May wait for locks of the compiler's.
  std::vector<BackgroundCompiler::Running> compiling() const;

 private:
  PlanChoice ChooseCompiled(size_t method, const ArgumentSpec& spec, std::span<const c10::IValue> arguments,
                            bool is_warmup);
  // Counts the call for the profile of its entry, and does what the profile and the plan's record then ask for: a
  // better plan, none, or a run that is sampled, which goes into `choice`.
  void RecordFeedback(const CodeCache::Found& found, std::span<const c10::IValue> arguments, bool is_warmup,
                      PlanChoice* choice);
  // Asks for a plan with the kernels that could not be made when this one was.
  void RetryKernels(const CodeCache::Found& found, std::span<const c10::IValue> arguments);
  // A plan that raises where the baseline does not.
  void Invalidate(CodeEntry& entry, const ExecutionPlan& plan);

  ModelPlans plans_;
  std::atomic<uint64_t> calls_[3] = {};  // by tier
  std::atomic<uint64_t> invalidated_{0};
  std::optional<ForcedPlans> forced_;
  std::optional<GuardDraw> failing_guards_;
  std::optional<CompileJobs> jobs_;  // its end is the first step of this one's
};

}  // namespace hearth
