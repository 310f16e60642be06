// How the calls of models are answered: what the models of a process share, and what a user may set.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "jit/executor/background_compiler.h"
#include "jit/executor/captured_plan.h"
#include "jit/executor/code_cache.h"
#include "jit/executor/entry_profile.h"
#include "jit/executor/shadow_runs.h"
#include "jit/fuser/runtime/kernel_source.h"
#include "jit/support/disposal_thread.h"
#include "jit/weights/derived_constants.h"

namespace hearth {

struct TierSettings {
  // Null: nothing is compiled in the background.
  std::shared_ptr<BackgroundCompiler> compiler;
  std::shared_ptr<CodeCacheBudget> budget;
  CodeCache::Settings cache;
  // What the copies of weights that plans are made with may take; null: no bound beside each model's own.
  std::shared_ptr<DerivedConstantBudget> copies;
  // Where plans have the code of fused kernels from; null: nothing is fused.
  std::shared_ptr<fuser::KernelSource> kernels;
  // Where plans end that nobody holds any more; null: with the last reference.
  std::shared_ptr<DisposalQueue> disposal;
  // How runs of plans on a GPU are recorded; null: they are not.
  std::optional<CaptureSettings> capture;
  // Checks a sample of what plans answer; null: nothing is checked.
  std::shared_ptr<ShadowRuns> shadow;
  // Runs that make a profile of the calls of one spec; 0: nothing is profiled.
  uint32_t profile_runs = EntryProfile::kRuns;
  // Calls of one shape, after which there is a plan for that alone; 0: there never is.
  uint64_t exact_after = 256;
  unsigned max_deoptimisations = 3;  // how many plans of one spec may speculate on what does not hold

  // For the command line and tests (forced_plans.h): every call waits for the plan for its arguments,
  bool forced = false;
  // for the one for its exact shape;
  bool forced_exact = false;
  // a call of a spec that no run was seen of is the run that is seen, in the baseline, and the plans of others
  // speculate on what one run showed.
  bool forced_profile = false;
  // Plans have guards everywhere, and each call makes one of them fail, picked by this seed.
  std::optional<uint64_t> fail_guards;
};

}  // namespace hearth
