// Calls that wait for their plans, and guards that fail on purpose: for the command line and for tests, where what runs
// must not depend on how often it was called or on when a thread of the compiler's was scheduled.
#pragma once

#include <ATen/core/ivalue.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "jit/executor/model_plans.h"
#include "jit/executor/plan_choice.h"

namespace hearth {

// Thread-safe.
class ForcedPlans {
 public:
  // `plans` outlives this.
  explicit ForcedPlans(ModelPlans& plans) : plans_(plans) {}

  // What a call runs where the settings say `forced`: compiled by the caller's thread if it is not there yet. Throws
  // what compiling throws.
  PlanChoice Choose(size_t method, const ArgumentSpec& spec, std::span<const c10::IValue> arguments);

 private:
  // The plan for all shapes, which `found` has none of, for the next calls too.
  std::shared_ptr<const ExecutionPlan> CompileFound(size_t method, const CodeCache::Found& found,
                                                    const PlanRequest& request);
  std::shared_ptr<const ExecutionPlan> Compile(size_t method, const PlanRequest& request) const;

  ModelPlans& plans_;
};

// Which guard of a call's plan fails. Thread-safe.
class GuardDraw {
 public:
  explicit GuardDraw(uint64_t seed) : seed_(seed) {}

  // One of the plan's guards: `wanted` of so many as it has, or drawn; negative if it has none.
  int32_t Draw(const ExecutionPlan& plan, std::optional<uint64_t> wanted);

 private:
  const uint64_t seed_;
  std::atomic<uint64_t> calls_{0};
};

}  // namespace hearth
